/** Method calls over WebSocket, compared with servers of the same stack that only parse and answer. */
import { type Row, ratioAtLeast, ratioAtMost, type Rounds, type Target } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { type LoadResult, runLoad } from "../load/closed-loop.ts";
import { makeRequests } from "../load/requests.ts";
import { closeAll, openSockets, type Peer } from "../load/socket.ts";
import { serverScript, startServer } from "../server-process.ts";
import { NAMES } from "../servers/answers.ts";
import { interleave, type Results, type Subject } from "../suite.ts";

const SHAPES = {
  one: { connections: 1, inFlight: 1 },
  many: { connections: 16, inFlight: 1 },
  deep: { connections: 16, inFlight: 16 },
} as const;

type Shape = keyof typeof SHAPES;
type Contender = "sync" | "health" | "bare" | "batched";
type Taken = Results<Contender, LoadResult>;

async function load(peer: Peer, method: string, shape: Shape, ms: number): Promise<LoadResult> {
  const { connections, inFlight } = SHAPES[shape];
  const sockets = await openSockets(peer, connections);
  try {
    return await runLoad(sockets, makeRequests(method), { inFlight, ms });
  } finally {
    closeAll(sockets);
  }
}

/** Rows of one shape: the synchronous method with its targets, the real `health` for comparison. */
function rows(
  figure: string,
  taken: Taken,
  value: keyof LoadResult,
  targets: Partial<Record<Contender, Target>>,
): Row[] {
  const of = (contender: Contender): Rounds => taken[contender].map((result) => result[value]);
  const unit = value === "perSecond" ? "/s" : "ms";
  const row = (name: string, ours: Contender, bare: Contender, target?: Target): Row => ({
    subject: "rpc",
    figure: `${figure}, ${name}`,
    unit,
    ours: of(ours),
    bare: { name: bare === "bare" ? "bare ws" : "one write a tick", rounds: of(bare) },
    ...(target ? { target } : {}),
  });
  return [
    row("sync method", "sync", "bare", targets.bare),
    ...(targets.batched ? [row("sync method", "sync", "batched", targets.batched)] : []),
    row("health", "health", "bare"),
  ];
}

export const rpc: Subject = {
  name: "rpc",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using gateway = await startGateway();
    await using bare = await startServer([serverScript("bare-ws")]);
    await using batched = await startServer([serverScript("batched-ws")]);
    const ours = { url: gateway.url, token: TOKEN };
    const contenders = (shape: Shape, ms: number) => ({
      sync: () => load(ours, NAMES.healthSized, shape, ms),
      bare: () => load(bare, NAMES.healthSized, shape, ms),
      health: () => load(ours, "health", shape, ms),
      batched: () => load(batched, NAMES.healthSized, shape, ms),
    });
    await interleave(1, contenders("deep", warmUpMs));
    const one = await interleave(rounds, contenders("one", windowMs));
    const many = await interleave(rounds, contenders("many", windowMs));
    const deep = await interleave(rounds, contenders("deep", windowMs));
    return [
      ...rows("1 connection, p50", one, "p50", { bare: ratioAtMost(1.2) }),
      ...rows("1 connection, p99", one, "p99", { bare: ratioAtMost(1.2) }),
      ...rows("16 x 1 in flight", many, "perSecond", { bare: ratioAtLeast(0.8) }),
      ...rows("16 x 1 in flight, p99", many, "p99", { bare: ratioAtMost(1.5) }),
      ...rows("16 x 16 in flight", deep, "perSecond", { bare: ratioAtLeast(1.5), batched: ratioAtLeast(0.8) }),
    ];
  },
};
