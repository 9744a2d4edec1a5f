/** Detects resources left open by a piece of code: timers, sockets, servers, workers. */

/** A snapshot of the open resources. */
export interface LeakCheck {
  /**
   * Waits until no more resources are open than at the start.
   * @param withinMs time limit for closing. Default 2000.
   * @throws Error naming the remaining kinds
   */
  expectNone(withinMs?: number): Promise<void>;
}

const STEP_MS = 25;

/**
 * Takes a snapshot of the process; `expectNone` compares with it. Kinds are Node's: `Timeout`, `TCPSocketWrap`,
 * `MessagePort`, ...
 */
export function startLeakCheck(): LeakCheck {
  const before = count();
  return {
    async expectNone(withinMs = 2_000) {
      const deadline = performance.now() + withinMs;
      let left = surplus(before);
      while (left.length > 0 && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, STEP_MS));
        left = surplus(before);
      }
      if (left.length > 0) throw new Error(`left open: ${left.map(([kind, more]) => `${more} ${kind}`).join(", ")}`);
    },
  };
}

function count(): Map<string, number> {
  const kinds = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  return kinds;
}

function surplus(before: ReadonlyMap<string, number>): [kind: string, more: number][] {
  return [...count()]
    .map(([kind, now]): [string, number] => [kind, now - (before.get(kind) ?? 0)])
    .filter(([kind, more]) => more > 0 && kind !== "Immediate" && kind !== "TickObject");
}
