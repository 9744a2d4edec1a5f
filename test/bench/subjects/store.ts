/** Reading conversations: the first page of many sessions and the end of a long one, compared with a small store to show growth. */
import { connect } from "@svc/sdk/client";
import { atMost, type Row, type Target } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { type LoadResult, runLoad } from "../load/closed-loop.ts";
import { makeRequests, type Requests } from "../load/requests.ts";
import { closeAll, openSockets } from "../load/socket.ts";
import { bench } from "../servers/contract.ts";
import { interleave, type Subject } from "../suite.ts";

const LARGE = 10_000;
const SMALL = 200;
const SESSIONS_LISTED = 60;
const MESSAGES_READ = 200;
const SESSION_KEY = "agent:main:long";
const SEED_MS = 60_000;

async function fill(url: string, size: number): Promise<void> {
  const client = await connect({ url, token: TOKEN });
  try {
    const amount = { sessions: size, messages: size, sessionKey: SESSION_KEY };
    await client.call(bench.seed, amount, { timeoutMs: SEED_MS });
  } finally {
    await client.close();
  }
}

async function load(url: string, requests: Requests, ms: number): Promise<LoadResult> {
  const sockets = await openSockets({ url, token: TOKEN }, 1);
  try {
    return await runLoad(sockets, requests, { inFlight: 1, ms });
  } finally {
    closeAll(sockets);
  }
}

export const store: Subject = {
  name: "store",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using large = await startGateway();
    await using small = await startGateway();
    await Promise.all([fill(large.url, LARGE), fill(small.url, SMALL)]);
    const rows: Row[] = [];
    const methods: readonly [figure: string, requests: Requests, target: Target][] = [
      [
        `sessions.list, ${SESSIONS_LISTED} of 10,000`,
        makeRequests("sessions.list", { limit: SESSIONS_LISTED }),
        atMost(10, "ms"),
      ],
      [
        `chat.history, ${MESSAGES_READ} of 10,000`,
        makeRequests("chat.history", { sessionKey: SESSION_KEY, limit: MESSAGES_READ }),
        atMost(15, "ms"),
      ],
    ];
    for (const [figure, requests, target] of methods) {
      const contenders = (ms: number) => ({
        large: () => load(large.url, requests, ms),
        small: () => load(small.url, requests, ms),
      });
      await interleave(1, contenders(warmUpMs));
      const taken = await interleave(rounds, contenders(windowMs));
      for (const value of ["p50", "p99"] as const) {
        rows.push({
          subject: "store",
          figure: `${figure}, ${value}`,
          unit: "ms",
          ours: taken.large.map((result) => result[value]),
          bare: { name: `ours, store of ${SMALL}`, rounds: taken.small.map((result) => result[value]) },
          ...(value === "p99" ? { target } : {}),
        });
      }
    }
    return rows;
  },
};
