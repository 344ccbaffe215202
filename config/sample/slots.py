"""Free time between appointments. Times are minutes since midnight."""


def merge(busy):
    """Joins appointments that overlap or follow each other without a gap."""
    merged = []
    for start, end in sorted(busy):
        if merged and start < merged[-1][1]:
            first, last = merged[-1]
            merged[-1] = (first, max(last, end))
        else:
            merged.append((start, end))
    return merged


def free(busy, opens, closes, at_least=1):
    """The gaps of at least so many minutes between opening and closing time."""
    gaps = []
    now = opens
    for start, end in merge(busy):
        if start - now >= at_least:
            gaps.append((now, min(start, closes)))
        now = max(now, end)
    if closes - now >= at_least:
        gaps.append((now, closes))
    return gaps


def first_fit(busy, opens, closes, length):
    """When an appointment of this length can begin at the earliest, or None."""
    for start, _ in free(busy, opens, closes, length):
        return start
    return None


def clock(minutes):
    """Minutes since midnight as people write them: 09:05."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
