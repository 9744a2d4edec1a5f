/** Connects to vetted addresses; resolves no names. */
import { withDeadline } from "../time/index.ts";
import type { Clock } from "@svc/sdk";
import { connect, isIP, type Socket } from "node:net";

/** Opens a connection to an address; rejects with the signal's reason if it aborts first. */
export type Connect = (address: string, port: number, signal: AbortSignal) => Promise<Socket>;

export const connectSocket: Connect = (address, port, signal) =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: address, port });
    const onAbort = () => socket.destroy(signal.reason as Error); // the reason of a deadline is an error
    const settled = () => signal.removeEventListener("abort", onAbort);
    socket.once("connect", () => resolve(socket)).on("error", reject); // ignored once the promise has settled
    socket.once("connect", settled).once("close", settled);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });

/** Choice: limits the attempts for a name with many addresses. */
const MAX_TRIED = 4;

/** Each address once, IPv4 first. */
export function inOrder(addresses: readonly string[]): readonly string[] {
  const unique = [...new Set(addresses)];
  return [...unique.filter((one) => isIP(one) === 4), ...unique.filter((one) => isIP(one) !== 4)].slice(0, MAX_TRIED);
}

/** Options of `dial`. */
export interface DialOptions {
  readonly connect: Connect;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Milliseconds shared by all attempts, so that an unresponsive address leaves time for the other addresses. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Connects to the first address that accepts. @throws the error of the last attempt, or the signal's reason */
export async function dial(addresses: readonly string[], port: number, options: DialOptions): Promise<Socket> {
  const { connect: open, clock, timeoutMs, signal } = options;
  let failure: unknown = new Error("no address");
  for (const address of addresses) {
    const share = Math.ceil(timeoutMs / addresses.length);
    const late = () => `no connection within ${share} ms`;
    try {
      return await withDeadline({ ms: share, clock, signals: [signal], late }, (attempt) =>
        open(address, port, attempt),
      );
    } catch (error) {
      if (signal.aborted) throw error;
      failure = error;
    }
  }
  throw failure;
}
