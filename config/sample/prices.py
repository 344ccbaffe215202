"""What a booking costs. Amounts are in cents."""

#: From so many nights on, so many per cent off.
LONG_STAY = [(28, 20), (14, 12), (7, 5)]


def discount(nights, rates=LONG_STAY):
    """The per cent that a stay of so many nights saves."""
    for least, percent in sorted(rates, reverse=True):
        if nights >= least:
            return percent
    return 0


def split(total, parts):
    """Splits an amount into whole cents; the first parts get what does not divide."""
    share, rest = divmod(total, parts)
    return [share + 1 if number < rest else share for number in range(parts)]


def price(nights, per_night, guests=1, included=2, per_guest=0):
    """The price of a stay: nights, and a supplement per night for guests that are not included."""
    extra = max(0, guests - included)
    full = nights * (per_night + extra * per_guest)
    return full - full * discount(nights) // 100


def refund(paid, days_before, free_until=14, half_until=3):
    """What a guest gets back who cancels so many days before the stay."""
    if days_before >= free_until:
        return paid
    if days_before > half_until:
        return paid // 2
    return 0
