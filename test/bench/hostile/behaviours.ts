/** The behaviours of hostile clients. Each continues until its lane ends. */
import type { Socket } from "node:net";
import * as fc from "fast-check";
import { clientFrame, frames, mutate, mutation, UPGRADE } from "../../fuzz/inputs.ts";
import { joined, type Lane, openSocket, pick, post, request, rest, send } from "./target.ts";

export type Behaviour = (lane: Lane) => Promise<void>;

const MOST_BYTES = 26_214_400;
/** Milliseconds before a lane tries again after it was refused. */
const AGAIN_MS = 20;
const READS = ["config.get", "config.schema", "sessions.list", "tools.catalog", "models.list", "logs.tail"] as const;
const DEAR = [...READS, "chat.history", "plugins.list", "secrets.list", "storage.usage", "webhooks.list"] as const;
const WIDE = ["operator.read", "operator.write", "operator.admin"];

function seedOf(lane: Lane): number {
  return Math.floor(lane.random() * 2 ** 31);
}

/** Repeats `work`; a turn that ends at once is followed by a short rest. */
async function again(lane: Lane, work: () => Promise<unknown>): Promise<void> {
  while (!lane.signal.aborted) {
    const begun = performance.now();
    await work();
    if (performance.now() - begun < AGAIN_MS && !(await rest(lane, AGAIN_MS))) return;
  }
}

/** Sends the results of `next` until the gateway closes the socket. */
async function pour(lane: Lane, socket: Socket | undefined, next: () => Buffer): Promise<void> {
  if (!socket) return;
  while (!lane.signal.aborted && (await send(socket, next()))) await new Promise(setImmediate);
}

const several = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes));

function paramsOf(method: string, { target: { sessionKey } }: Lane): object {
  return method === "chat.history" ? { sessionKey, limit: 1_000 } : {};
}

/** Many calls in one write; responses are read and discarded. */
function flood(methods: readonly [string, ...string[]], together: number): Behaviour {
  return (lane) =>
    again(lane, async () => {
      const socket = await joined(lane, WIDE);
      await pour(lane, socket, () => {
        const calls = Array.from({ length: together }, (_, index) => {
          const method = pick(lane, methods);
          return request(method, paramsOf(method, lane), `${index}`);
        });
        return Buffer.concat(calls);
      });
    });
}

const garbageFrames: Behaviour = (lane) =>
  again(lane, async () => {
    const socket = await joined(lane);
    const seed = seedOf(lane);
    const structured = fc.sample(frames([...DEAR, "health"], ["limit", "sessionKey"]), { seed, numRuns: 40 });
    const bent = fc.sample(mutation, { seed, numRuns: 40 });
    const wires = [
      ...structured.map((frame) => clientFrame(Buffer.from(JSON.stringify(frame) ?? "undefined"))),
      ...bent.map((steps) => mutate(request("sessions.list", { limit: 3 }), steps)),
    ];
    await pour(lane, socket, () => pick(lane, wires as [Buffer, ...Buffer[]]));
  });

const garbageHttp: Behaviour = (lane) =>
  again(lane, async () => {
    const right = post("/hooks/wake", lane.target.hookToken, '{"text":"x","mode":"next-heartbeat"}');
    for (const steps of fc.sample(mutation, { seed: seedOf(lane), numRuns: 40 })) {
      const socket = await openSocket(lane);
      if (socket) await send(socket, mutate(pick(lane, [right, UPGRADE]), steps));
      await rest(lane, 2);
      socket?.destroy();
    }
  });

const repeated = (piece: string, bytes: number) => piece.repeat(Math.floor(bytes / piece.length));
const inParams = (json: string) => `{"type":"req","id":"1","method":"health","params":{"x":${json}}}`;
const ROOM = MOST_BYTES - 100;

/** Frame texts near the limit, each expensive to parse in a different way. */
const LARGE: Record<string, () => string> = {
  "one text": () => inParams(`"${repeated("a", ROOM)}"`),
  "a text of escapes": () => inParams(`"${repeated(String.raw`\u0041`, ROOM)}"`),
  "a text of wide characters": () => inParams(`"${repeated("\u4e16", ROOM / 3)}"`),
  "nested arrays": () => inParams(repeated("[", ROOM)),
  "nested arrays below the bound": () => inParams(repeated("[", 199_000) + repeated("]", 199_000)),
  "many values": () => inParams(`[${repeated("1,", ROOM)}1]`),
  "many values below the bound": () => inParams(`[${repeated("1,", 390_000)}1]`),
  "many objects below the bound": () => inParams(`[${repeated('{"a":1},', 790_000)}1]`),
  "many keys below the bound": () =>
    inParams(`{${Array.from({ length: 190_000 }, (_, index) => `"k${index}":1`).join(",")}}`),
  "many long keys": () =>
    inParams(`{${Array.from({ length: 25_000 }, (_, index) => `"${repeated("k", 1_000)}${index}":1`).join(",")}}`),
  spaces: () => inParams(repeated(" ", ROOM)),
  "a long number": () => inParams(repeated("9", ROOM)),
  "a long method": () => `{"type":"req","id":"1","method":"${repeated("m", ROOM)}"}`,
  "a long id": () => `{"type":"req","id":"${repeated("i", ROOM)}","method":"health"}`,
};
const made = new Map<string, Buffer>();

function large(name: string): Buffer {
  const known = made.get(name) ?? clientFrame(Buffer.from(LARGE[name]?.() ?? "[]"));
  made.set(name, known);
  return known;
}

function largeFrames(names: readonly string[]): Behaviour {
  return (lane) =>
    again(lane, async () => {
      const socket = await joined(lane);
      await pour(lane, socket, () => large(pick(lane, names as [string, ...string[]])));
    });
}

/** A message in fragments of one byte, and pings whose pongs are never read. */
const fragments: Behaviour = (lane) => {
  const first = Buffer.from(clientFrame(Buffer.from("[")));
  first[0] = 0x01;
  const next = Buffer.from(clientFrame(Buffer.from("[")));
  next[0] = 0x00;
  const bytes = Buffer.concat(Array.from({ length: 4_000 }, () => next));
  return again(lane, async () => {
    const socket = await joined(lane);
    if (socket) await send(socket, first);
    await pour(lane, socket, () => bytes);
  });
};

const pings: Behaviour = (lane) => {
  const bytes = Buffer.concat(Array.from({ length: 500 }, () => clientFrame(Buffer.alloc(125, 1), 9)));
  return again(lane, async () => {
    const socket = await joined(lane);
    socket?.pause();
    await pour(lane, socket, () => bytes);
  });
};

/** Sockets that send nothing, or nothing after the upgrade. */
const halfOpen: Behaviour = (lane) =>
  again(lane, async () => {
    const open: Socket[] = [];
    while (open.length < 1_000 && !lane.signal.aborted) {
      const socket = await openSocket(lane);
      if (!socket) break;
      if (lane.random() < 0.7) await send(socket, UPGRADE);
      open.push(socket);
    }
    await rest(lane, 4_000);
    for (const socket of open) socket.destroy();
  });

const comeAndGo: Behaviour = (lane) =>
  again(lane, async () => {
    for (let turn = 0; turn < 50 && !lane.signal.aborted; turn++) (await joined(lane))?.destroy();
  });

/** Clients that stop reading while they receive events and long responses. */
const slowReaders: Behaviour = (lane) =>
  again(lane, async () => {
    const readers: Socket[] = [];
    for (let index = 0; index < 20 && !lane.signal.aborted; index++) {
      const reader = await joined(lane);
      if (!reader) continue;
      const calls = Array.from({ length: 60 }, () => request("chat.history", paramsOf("chat.history", lane)));
      reader.pause();
      await send(reader, Buffer.concat(calls));
      readers.push(reader);
    }
    const sender = await joined(lane, WIDE);
    const until = performance.now() + 2_000;
    const turn = { ...lane, signal: AbortSignal.any([lane.signal, AbortSignal.timeout(2_000)]) };
    await pour(turn, sender, () => several(40, request("bench.publish")));
    await rest(lane, until - performance.now());
    for (const socket of [sender, ...readers]) socket?.destroy();
  });

/** Heads and bodies byte by byte. */
const slowWriters: Behaviour = (lane) =>
  again(lane, async () => {
    const { hookToken } = lane.target;
    const text = post("/hooks/wake", hookToken, '{"text":"slow","mode":"next-heartbeat"}');
    const writers = await Promise.all(Array.from({ length: 100 }, () => openSocket(lane)));
    for (const byte of text) {
      for (const writer of writers) if (writer) void send(writer, Buffer.from([byte]));
      if (!(await rest(lane, 5))) break;
    }
    for (const writer of writers) writer?.destroy();
  });

/** Response streams that are never read. */
const stoppedStreams: Behaviour = (lane) =>
  again(lane, async () => {
    const body = JSON.stringify({ model: "svc", stream: true, messages: [{ role: "user", content: "long answer" }] });
    const open: Socket[] = [];
    for (let index = 0; index < 20 && !lane.signal.aborted; index++) {
      const socket = await openSocket(lane);
      if (!socket) continue;
      socket.pause();
      await send(socket, post("/v1/chat/completions", lane.target.token, body));
      open.push(socket);
    }
    await rest(lane, 1_000);
    for (const socket of open) socket.destroy();
  });

/** Pipelined requests over one socket each. */
function http(make: (lane: Lane) => Buffer): Behaviour {
  return (lane) =>
    again(lane, async () => {
      const socket = await openSocket(lane);
      const bytes = make(lane);
      await pour(lane, socket, () => bytes);
    });
}

const wake = (text: string) => JSON.stringify({ text, mode: "next-heartbeat" });
const MANY_VALUES = `{"x":[${repeated("1,", 1_040_000)}1]}`;

const waits: Behaviour = (lane) =>
  again(lane, async () => {
    const socket = await joined(lane, WIDE);
    await pour(lane, socket, () => {
      const calls = Array.from({ length: 100 }, (_, index) =>
        request("agent.wait", { runId: `none-${lane.random()}`, timeoutMs: 20_000 }, `${index}`),
      );
      return Buffer.concat(calls);
    });
  });

/** Runs that cost a model and the store. */
const chats: Behaviour = (lane) =>
  again(lane, async () => {
    const socket = await joined(lane, WIDE);
    await pour(lane, socket, () => {
      const calls = Array.from({ length: 20 }, (_, index) => {
        const idempotencyKey = `hostile-${lane.random()}`;
        const sessionKey = `hostile-${Math.floor(lane.random() * 50)}`;
        return request("chat.send", { sessionKey, message: "short answer", idempotencyKey }, `${index}`);
      });
      return Buffer.concat(calls);
    });
  });

/** By the names that `--only` accepts. */
export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  "garbage-frames": garbageFrames,
  "garbage-http": garbageHttp,
  "large-frames": largeFrames(Object.keys(LARGE)),
  fragments,
  pings,
  "cheap-calls": flood(["health"], 500),
  "dear-calls": flood(DEAR as unknown as [string, ...string[]], 100),
  chats,
  waits,
  "half-open": halfOpen,
  "come-and-go": comeAndGo,
  "slow-readers": slowReaders,
  "slow-writers": slowWriters,
  "stopped-streams": stoppedStreams,
  "webhooks-wrong": http(() => several(20, post("/hooks/wake", "wrong-token-000000000000", wake("x")))),
  "webhooks-right": http(({ target, random }) =>
    several(20, post("/hooks/wake", target.hookToken, wake(`${random()}`))),
  ),
  "webhooks-large": http(({ target }) => post("/hooks/wake", target.hookToken, MANY_VALUES)),
  "http-large": http(({ target }) => post("/v1/chat/completions", target.token, MANY_VALUES)),
};

/** More specific behaviours, run only by name: `large:<frame>` and `call:<method>`. */
export function behaviourOf(name: string): Behaviour | undefined {
  const [kind = "", detail = ""] = name.split(":");
  if (kind === "large" && detail in LARGE) return largeFrames([detail]);
  if (kind === "call" && detail) return flood([detail], 100);
  return BEHAVIOURS[name];
}

export const LARGE_NAMES: readonly string[] = Object.keys(LARGE).map((name) => `large:${name}`);
export const CALL_NAMES: readonly string[] = DEAR.map((name) => `call:${name}`);

/** All behaviours in turn. */
export const mixed: Behaviour = async (lane) => {
  const all = Object.values(BEHAVIOURS) as [Behaviour, ...Behaviour[]];
  while (!lane.signal.aborted) {
    const turn = AbortSignal.any([lane.signal, AbortSignal.timeout(500 + Math.floor(lane.random() * 4_000))]);
    await pick(lane, all)({ ...lane, signal: turn });
  }
};
