import unittest

from slots import clock, first_fit, free, merge


class Merge(unittest.TestCase):
    def test_overlapping_appointments_become_one(self):
        self.assertEqual(merge([(600, 660), (540, 610)]), [(540, 660)])

    def test_back_to_back_appointments_become_one(self):
        self.assertEqual(merge([(540, 600), (600, 660)]), [(540, 660)])

    def test_a_gap_keeps_them_apart(self):
        self.assertEqual(merge([(540, 600), (615, 660)]), [(540, 600), (615, 660)])

    def test_one_inside_another(self):
        self.assertEqual(merge([(540, 720), (600, 630)]), [(540, 720)])


class Free(unittest.TestCase):
    def test_gaps_between_appointments(self):
        self.assertEqual(free([(600, 660)], 540, 1020), [(540, 600), (660, 1020)])

    def test_short_gaps_are_left_out(self):
        self.assertEqual(free([(560, 1000)], 540, 1020, 30), [])

    def test_the_first_fit(self):
        self.assertEqual(first_fit([(540, 600), (620, 700)], 540, 1020, 30), 700)
        self.assertIsNone(first_fit([(540, 1000)], 540, 1020, 30))

    def test_clock(self):
        self.assertEqual(clock(545), "09:05")


if __name__ == "__main__":
    unittest.main()
