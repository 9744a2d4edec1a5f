/** Sends `sessions.changed` to the connections that asked for it. Spec: protocol 4 §3. */
import type { Clock, Logger, PayloadOf } from "@svc/sdk";
import type { SessionChange, Sessions, sessionsChanged } from "@svc/sdk/sessions";
import { isCronRun } from "../keys-routing/keys.ts";

/** Milliseconds in which the changes of one session are collected. */
const MERGE_MS = 200;
/** Choice: changed sessions whose rows are sent one by one; when there are more, clients read the list again. */
const MOST_ROWS = 100;

export interface SubscribersOptions {
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Pick<Logger, "warn">;
  readonly sessions: Pick<Sessions, "row" | "agentOf">;
  readonly emit: (payload: PayloadOf<typeof sessionsChanged>, audience: { connections: readonly string[] }) => void;
}

export interface Subscribers {
  add(connectionId: string): void;
  delete(connectionId: string): void;
  changed(change: SessionChange): void;
}

export function createSubscribers({ clock, log, sessions, emit }: SubscribersOptions): Subscribers {
  const connections = new Set<string>();
  let changes = new Map<string, SessionChange>();
  /** Rows of earlier changes are being read; later ones follow them. */
  let isBusy = false;

  const send = (payload: Omit<PayloadOf<typeof sessionsChanged>, "ts">) => {
    if (connections.size > 0) emit({ ...payload, ts: clock.now() }, { connections: [...connections] });
  };

  async function sendRow({ key, reason, run }: SessionChange): Promise<void> {
    const session = await sessions.row(key, { includeDerivedTitles: true, includeLastMessage: true });
    const what = session ? { reason, ...run, session } : { reason: "delete" };
    send({ sessionKey: key, agentId: sessions.agentOf(key), ...what });
  }

  async function flush(): Promise<void> {
    const all = [...changes.values()];
    changes = new Map();
    try {
      if (all.length > MOST_ROWS) send({ reason: "many" });
      else for (const change of all) await sendRow(change);
    } catch (error) {
      log.warn({ err: error }, "rows of changed sessions could not be read; clients read the list again");
      send({ reason: "many" });
    }
    isBusy = false;
    if (changes.size > 0) plan();
  }

  function plan(): void {
    if (isBusy) return;
    isBusy = true;
    clock.setTimeout(() => void flush(), MERGE_MS);
  }

  return {
    add: (id) => void connections.add(id),
    delete: (id) => void connections.delete(id),
    changed(change) {
      if (connections.size === 0 || isCronRun(change.key)) return; // lists do not have runs of scheduled jobs
      changes.delete(change.key); // the order of the last changes
      changes.set(change.key, change);
      plan();
    },
  };
}
