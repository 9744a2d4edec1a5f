/** Handlers of `sessions.subscribe` and `sessions.unsubscribe`. */
import { type ConnectionInfo, type Handlers, invalidRequest, type ResultOf } from "@svc/sdk";
import type { sessions, sessionsWatch } from "@svc/sdk/sessions";
import type { ListParams } from "../finding/listing.ts";
import type { Subscribers } from "./subscribers.ts";

/** @param list result of `sessions.list` */
export function createWatchHandlers(
  subscribers: Subscribers,
  list: (params: ListParams) => Promise<ResultOf<typeof sessions.list>>,
): Handlers<typeof sessionsWatch> {
  return {
    async subscribe({ params, connection, signal }) {
      const id = idOf(connection);
      if (!signal.aborted) subscribers.add(id); // before the list is read, so that no change is lost
      return { subscribed: true, ...(Object.keys(params).length > 0 && { list: await list(params) }) };
    },

    unsubscribe({ connection }) {
      subscribers.delete(idOf(connection));
      return { subscribed: false };
    },
  };
}

function idOf(connection: ConnectionInfo | undefined): string {
  return connection?.id ?? invalidRequest("only a connected client can subscribe: call it on a WebSocket");
}
