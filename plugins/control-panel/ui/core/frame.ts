/** @returns what does `work` in the next frame, once for all calls until then */
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
