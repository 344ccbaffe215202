"""Lists in pages, as the web interface shows them. Pages are counted from 1."""


def page_count(items, per_page):
    """How many pages so many items need; an empty list has one page."""
    return max(1, (items + per_page - 1) // per_page)


def page_slice(sequence, page, per_page):
    """The items of a page; a page past the end is the last one."""
    page = max(page, page_count(len(sequence), per_page))
    begin = (page - 1) * per_page
    return sequence[begin : begin + per_page]


def neighbours(page, pages, width=5):
    """The page numbers to show around a page: `width` of them if there are so many."""
    half = width // 2
    first = max(1, min(page - half, pages - width + 1))
    last = min(pages, first + width - 1)
    return list(range(first, last + 1))


def label(page, items, per_page):
    """What stands above the list: `11-20 of 25`."""
    if items == 0:
        return "nothing found"
    begin = (page - 1) * per_page + 1
    end = min(begin + per_page - 1, items)
    return f"{begin}-{end} of {items}"
