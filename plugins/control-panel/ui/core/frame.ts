/** Merges calls into one. @returns plans `work` for the next frame, unless it is planned already */
export function inNextFrame(work: () => void): () => void {
  let isPlanned = false;
  const run = () => {
    isPlanned = false;
    work();
  };
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    // A hidden page gets no animation frames, but its title and badges must stay right.
    if (document.hidden) setTimeout(run, 100);
    else requestAnimationFrame(run);
  };
}
