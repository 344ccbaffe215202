import unittest

from pages import label, neighbours, page_count, page_slice


class Pages(unittest.TestCase):
    def test_count(self):
        self.assertEqual([page_count(n, 10) for n in (0, 1, 10, 11)], [1, 1, 1, 2])

    def test_slice(self):
        self.assertEqual(page_slice("abcdefg", 2, 3), "def")
        self.assertEqual(page_slice("abcdefg", 9, 3), "g")

    def test_label(self):
        self.assertEqual(label(2, 25, 10), "11-20 of 25")
        self.assertEqual(label(3, 25, 10), "21-25 of 25")
        self.assertEqual(label(1, 0, 10), "nothing found")


class Neighbours(unittest.TestCase):
    def test_few_pages_are_all_shown(self):
        self.assertEqual(neighbours(2, 3), [1, 2, 3])

    def test_the_page_is_in_the_middle(self):
        self.assertEqual(neighbours(10, 20), [8, 9, 10, 11, 12])

    def test_at_the_start(self):
        self.assertEqual(neighbours(1, 20), [1, 2, 3, 4, 5])

    def test_at_the_end(self):
        self.assertEqual(neighbours(20, 20), [16, 17, 18, 19, 20])


if __name__ == "__main__":
    unittest.main()
