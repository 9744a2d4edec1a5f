/** Closed-loop load: a fixed number of requests in flight on each connection; each response triggers the next request. */
import { percentile } from "../figures.ts";
import { answeredBy, type Requests, RING_SIZE } from "./requests.ts";
import type { LoadSocket } from "./socket.ts";

export interface LoadOptions {
  /** Requests in flight on each connection; at most `RING_SIZE`. */
  readonly inFlight: number;
  /** Milliseconds. */
  readonly ms: number;
}

export interface LoadResult {
  readonly perSecond: number;
  /** Milliseconds from request to answer. */
  readonly p50: number;
  readonly p99: number;
}

/** Milliseconds after the end within which the last responses must arrive. */
const DRAIN_MS = 10_000;

/** @throws Error when a server refuses, closes or stops answering */
export function runLoad(
  sockets: readonly LoadSocket[],
  requests: Requests,
  { inFlight, ms }: LoadOptions,
): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const latencies: number[] = [];
    const begun = performance.now();
    const end = begun + ms;
    let underWay = 0;
    const stuck = setTimeout(() => reject(new Error("a server stopped answering")), ms + DRAIN_MS);
    const fail = (error: Error) => {
      clearTimeout(stuck);
      reject(error);
    };
    const done = () => {
      clearTimeout(stuck);
      const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)];
      resolve({ perSecond: (latencies.length / ms) * 1_000, p50, p99 });
    };

    for (const socket of sockets) {
      const sentAt = new Float64Array(RING_SIZE);
      let next = 0;
      let owed = 0;
      const send = (count: number) => {
        const now = performance.now();
        for (let number = next; number < next + count; number++) sentAt[number % RING_SIZE] = now;
        for (const bytes of requests.take(next, count)) socket.write(bytes);
        next += count;
        underWay += count;
      };
      let arrivedAt = 0;
      socket.onFailure(fail);
      socket.listen(
        (buffer, from, to) => {
          const place = answeredBy(buffer, from, to);
          if (place < 0) return;
          if (owed++ === 0) arrivedAt = performance.now();
          underWay--;
          if (arrivedAt <= end) latencies.push(arrivedAt - (sentAt[place] ?? 0));
        },
        () => {
          const answered = owed;
          owed = 0;
          if (answered === 0) return;
          if (arrivedAt < end) send(answered);
          else if (underWay === 0) done();
        },
      );
      send(inFlight);
    }
  });
}
