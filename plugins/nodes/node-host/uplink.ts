/** Sends answers and reports to the gateway. Answers go to the connection of their invocation; reports wait for a connection. */
import { messageOf } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";
import { nodes } from "@svc/sdk/nodes";
import type { InvocationAnswer } from "./invocations.ts";

/** Choice: maximum reports waiting for a connection; above it the oldest is dropped. */
const MAX_WAITING = 200;

export interface Uplink {
  /** Sends reports to this client from now on, starting with those that waited. */
  attach(client: GatewayClient): void;
  detach(): void;
  /** The current connection. */
  readonly client: GatewayClient | undefined;
  /** Queues `node.event`. Never throws. */
  tell(event: string, payload: object): void;
  /** Resolves when all sent reports are delivered or undeliverable, and notes those that never had a connection. Never rejects. */
  flush(): Promise<void>;
  /** Resolves when the answer is delivered or undeliverable. Never rejects. */
  answer(client: GatewayClient, nodeId: string, answer: InvocationAnswer): Promise<void>;
}

/** @param note receives a line for each undelivered report or answer */
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
    get client() {
      return current;
    },
    tell(event, payload) {
      const report = { event, payloadJSON: JSON.stringify(payload) };
      if (current) return send(current, report);
      waiting.push(report);
      const [dropped] = waiting.length > MAX_WAITING ? waiting.splice(0, 1) : [];
      if (dropped) note(`${dropped.event} was not delivered: too many reports wait for the gateway`);
    },
    async flush() {
      await Promise.all(inFlight);
      for (const { event } of waiting.splice(0)) note(`${event} was not delivered: there is no connection`);
    },
    async answer(client, nodeId, answer) {
      try {
        await client.call(nodes.invokeResult, { ...answer, nodeId });
      } catch (error) {
        note(`an answer was not delivered; the gateway has reported the failure to the caller: ${messageOf(error)}`);
      }
    },
  };
}
