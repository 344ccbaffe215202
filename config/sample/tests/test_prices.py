import unittest

from prices import discount, price, refund, split


class Prices(unittest.TestCase):
    def test_discount(self):
        self.assertEqual([discount(n) for n in (6, 7, 13, 14, 40)], [0, 5, 5, 12, 20])

    def test_included_guests_cost_nothing_more(self):
        self.assertEqual(price(2, 10_000, guests=2, per_guest=1_500), 20_000)

    def test_further_guests_pay_a_supplement(self):
        self.assertEqual(price(2, 10_000, guests=4, per_guest=1_500), 26_000)

    def test_one_guest_pays_no_supplement(self):
        self.assertEqual(price(1, 10_000, guests=1, per_guest=1_500), 10_000)

    def test_split(self):
        self.assertEqual(split(1000, 3), [334, 333, 333])

    def test_refund(self):
        self.assertEqual([refund(1000, d) for d in (20, 14, 13, 3, 2)], [1000, 1000, 500, 500, 0])


if __name__ == "__main__":
    unittest.main()
