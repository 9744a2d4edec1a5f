/** Which conversations people have seen in this browser, so that the others can be marked. */
const KEY = "svc-panel.seen";
/** Choice: conversations that are remembered; older ones count as seen. */
const MAX = 500;

/** Time of the last use that people saw, by key; `""`: since when this browser marks. */
type Seen = Record<string, number>;

let seen: Seen | undefined;

function all(): Seen {
  if (seen) return seen;
  try {
    seen = { ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Seen) };
  } catch {
    seen = {}; // written by something else
  }
  if (typeof seen[""] !== "number") seen[""] = Date.now();
  return seen;
}

/** After a sign-out: the keys name people. */
export function forgetSeen(): void {
  seen = undefined;
  localStorage.removeItem(KEY);
}

/** @param at epoch ms of the last use */
export function isUnread(key: string, at: number): boolean {
  const known = all();
  return at > Math.max(known[key] ?? 0, known[""] ?? 0);
}

export function saw(key: string, at: number): void {
  const known = all();
  if ((known[key] ?? 0) >= at) return;
  known[key] = at;
  const keys = Object.keys(known).filter((name) => name !== "");
  if (keys.length > MAX) {
    const oldest = keys.toSorted((left, right) => (known[left] ?? 0) - (known[right] ?? 0)).slice(0, keys.length - MAX);
    for (const name of oldest) {
      known[""] = Math.max(known[""] ?? 0, known[name] ?? 0);
      delete known[name];
    }
  }
  try {
    localStorage.setItem(KEY, JSON.stringify(known));
  } catch {
    // full: marks are lost with the page
  }
}
