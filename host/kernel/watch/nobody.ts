/** The number that stands for no plugin; a file of its own, so that the watchdog's thread loads no more than it needs. */
export const NOBODY = 0;
