/** Real time, for programs and files that are real. */
export const systemClock = {
  setTimeout(callback: () => void, ms: number): () => void {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
