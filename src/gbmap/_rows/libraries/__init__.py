"""Libraries of arrays that need more than the Python array API says: a module for each, named as its package.

Each has a `Library`, which `gbmap._core.arrays.library_of` finds by the package of an array's type.
"""
