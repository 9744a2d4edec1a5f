/** The way from a node to its gateway, which is not always there: answers go where the question came from, reports wait. */
import { messageOf } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";
import { nodes } from "@svc/sdk/nodes";
import type { InvocationAnswer } from "./invocations.ts";

/** Reports that wait for a connection; the oldest go first when there are more. Choice. */
const MAX_WAITING = 200;

export interface Uplink {
  /** Reports go this way now; those that waited go first. */
  attach(client: GatewayClient): void;
  detach(): void;
  /** Queues `node.event`. Never throws. */
  tell(event: string, payload: object): void;
  /** The last word: resolves when the gateway has what was sent, or cannot get it any more. What still waits is told. Never rejects. */
  flush(): Promise<void>;
  /** Resolves when the gateway has it, or cannot get it any more. Never rejects. */
  answer(client: GatewayClient, nodeId: string, answer: InvocationAnswer): Promise<void>;
}

/** @param note gets what could not be delivered */
export function createUplink(note: (line: string) => void): Uplink {
  let current: GatewayClient | undefined;
  const waiting: { readonly event: string; readonly payloadJSON: string }[] = [];

  const inFlight = new Set<Promise<void>>();

  function send(client: GatewayClient, report: { event: string; payloadJSON: string }): void {
    const sent = client
      .call(nodes.event, report)
      .then(
        () => undefined,
        (error: unknown) => note(`${report.event} was not delivered: ${messageOf(error)}`),
      )
      .finally(() => inFlight.delete(sent));
    inFlight.add(sent);
  }

  return {
    attach(client) {
      current = client;
      for (const report of waiting.splice(0)) send(client, report);
    },
    detach() {
      current = undefined;
    },
    tell(event, payload) {
      const report = { event, payloadJSON: JSON.stringify(payload) };
      if (current) return send(current, report);
      waiting.push(report);
      const [dropped] = waiting.length > MAX_WAITING ? waiting.splice(0, 1) : [];
      if (dropped) note(`${dropped.event} was not delivered: too much waits for the gateway`);
    },
    async flush() {
      await Promise.all(inFlight);
      for (const { event } of waiting.splice(0)) note(`${event} was not delivered: there is no connection`);
    },
    async answer(client, nodeId, answer) {
      try {
        await client.call(nodes.invokeResult, { ...answer, nodeId });
      } catch (error) {
        note(`an answer was not delivered, and the gateway has said so to whoever asked: ${messageOf(error)}`);
      }
    },
  };
}
