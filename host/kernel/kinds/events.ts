/** Events a plugin sends to connections. */
import { type Audience, type EventSpec, Type } from "@svc/sdk";
import { defineKind, type Owned } from "../kind.ts";

export interface DeclaredEvent {
  readonly event: EventSpec;
}
export type LiveEvent = DeclaredEvent & Owned;

export const events = defineKind<DeclaredEvent>({
  name: "events",
  noun: "event",
  shape: Type.Object({ name: Type.String() }),
  isUnique: true,
  describe: ({ event: { name } }) => ({ name }),

  members: (record, { signal, publish, forward }) => ({
    event(event: EventSpec) {
      record({ event });
      return (payload: unknown, audience?: Audience) => {
        if (!signal.aborted) publish(event, payload, audience);
      };
    },
    forward(event: EventSpec, payload: unknown, connections: readonly string[]) {
      if (!signal.aborted && connections.length > 0) forward(event, payload, connections);
    },
  }),

  problems: ({ event: { name, summary } }) =>
    summary.trim() === ""
      ? [{ level: "failed", why: `event ${name} has no summary`, next: "state in one line when it is sent" }]
      : [],
});
