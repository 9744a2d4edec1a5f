/** Resources opened by a piece of code. */

/** Kinds that appear and disappear by themselves. */
const FLEETING = /^(Immediate|TickObject|FSReq|WriteWrap|ShutdownWrap|GetAddrInfo)/;

function count(): Map<string, number> {
  const kinds = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo())
    if (!FLEETING.test(kind)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  return kinds;
}

/** Kinds with more resources than before, e.g. `TCPServerWrap`. */
function moreThan(before: ReadonlyMap<string, number>, allowed: Readonly<Record<string, number>> = {}): string[] {
  return [...count()]
    .filter(([kind, now]) => now > (before.get(kind) ?? 0) + (allowed[kind] ?? 0))
    .map(([kind]) => kind);
}

/** Runs a `setup` and reports the kinds of resources it opened. */
export function openedBy(setup: () => void | Promise<void>, tell: (kinds: string[]) => void): void | Promise<void> {
  const before = count();
  const done = setup();
  if (!(done instanceof Promise)) return tell(moreThan(before));
  return done.then(() => tell(moreThan(before, { Timeout: 1 }))); // the gateway's own deadline for setup
}
