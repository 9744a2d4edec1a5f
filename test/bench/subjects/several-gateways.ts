/**
 * Several gateways on one PostgreSQL database: how much a second and a third one add. Each gateway has a part of a core, so that all of them
 * fit on the core of the servers; the database shares the core of the load.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@svc/sdk/client";
import { until } from "../../until.ts";
import { atMost, percentile, type Row, ratioAtLeast, type Target } from "../figures.ts";
import { type LoadedGateway, startGateway, TOKEN } from "../gateways.ts";
import { runLoad } from "../load/closed-loop.ts";
import { runHttpLoad } from "../load/http.ts";
import { modelConfig, startModel } from "../load/model.ts";
import { answeredBy, makeRequests } from "../load/requests.ts";
import { closeAll, type LoadSocket, openSocket, openSockets } from "../load/socket.ts";
import { askBySocket } from "../load/streams.ts";
import { limitCpu } from "../machine.ts";
import { startDatabase } from "../postgres.ts";
import { NAMES } from "../servers/answers.ts";
import { bench } from "../servers/contract.ts";
import { interleave, STORED_MS, type Subject } from "../suite.ts";
import { publish } from "./fan-out.ts";

/** Of one core, for each gateway. */
const SHARE = 0.25;
/** For each gateway. */
const CONNECTIONS = 8;
/** In all. */
const RECEIVERS = 960;
/** Events under way for each gateway. */
const EVENTS = 32;
/** Windows for one figure, and warm-ups for each gateway. */
const WINDOWS = 2;
const WARM_UPS = 3;
/** Runs under way for each gateway. */
const RUNS = 4;
/** Clients of a gateway that is drained. */
const HERD = 1_000;
/** Milliseconds between the measured calls while they come back. */
const CALL_EVERY_MS = 5;
const HERD_MS = 60_000;
const HOOK_TOKEN = "hook-token-0123456789abcdef";
const BODY = JSON.stringify({ text: "x".repeat(200) });
const LISTED = { limit: 20 };

interface Group extends AsyncDisposable {
  readonly gateways: readonly LoadedGateway[];
  /** Connections to each of them. */
  readonly callers: readonly LoadSocket[];
  /** Connections to each of them in turn; all publish. */
  readonly receivers: readonly LoadSocket[];
  /** One for each of them. */
  readonly talkers: readonly LoadSocket[];
}

/** The result is a rate, for one second, of all gateways of the group. */
type Work = (group: Group, ms: number) => Promise<number>;

const WORK: Readonly<Record<string, Work>> = {
  async "webhooks, on disk before 200"({ gateways }, ms) {
    const load = { path: "/hooks/note", token: HOOK_TOKEN, body: BODY, connections: CONNECTIONS, ms };
    const results = gateways.map(({ url }) => runHttpLoad({ ...load, url: url.replace(/^ws/, "http") }));
    return sum((await Promise.all(results)).map(({ perSecond }) => perSecond));
  },
  "calls of a sync method": async ({ callers }, ms) =>
    (await runLoad(callers, makeRequests(NAMES.healthSized), { inFlight: 4, ms })).perSecond,
  "calls of sessions.list": async ({ callers }, ms) =>
    (await runLoad(callers, makeRequests("sessions.list", LISTED), { inFlight: 1, ms })).perSecond,
  [`deliveries of events to ${RECEIVERS} receivers`]: async ({ gateways, receivers }, ms) => {
    const begun = performance.now();
    const deliveries = await publish(receivers, receivers, EVENTS * gateways.length, ms);
    return (deliveries * 1_000) / (performance.now() - begun);
  },
  async "runs with a short answer"({ talkers }, ms) {
    const end = performance.now() + ms;
    let done = 0;
    const begun = performance.now();
    const talk = async (ask: ReturnType<typeof askBySocket>) => {
      for (; performance.now() < end; done += 1) await ask("short");
    };
    await Promise.all(talkers.map(askBySocket).flatMap((ask) => Array.from({ length: RUNS }, () => talk(ask))));
    return (done * 1_000) / (performance.now() - begun);
  },
};

type Contender = "sqlite" | "one" | "two" | "three";

export const severalGateways: Subject = {
  name: "several gateways",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using model = await startModel();
    await using database = await startDatabase();
    await using sqlite = await startGroup(1, model.url);
    await using one = await startGroup(1, model.url, database.schema("one"));
    await using two = await startGroup(2, model.url, database.schema("two"));
    await using three = await startGroup(3, model.url, database.schema("three"));
    const groups = { sqlite, one, two, three };
    const contenders = (work: Work, ms: number) =>
      Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, () => work(group, ms)])) as Record<
        Contender,
        () => Promise<number>
      >; // the keys are those of `groups`
    for (const work of Object.values(WORK))
      await interleave(
        1,
        contenders((group, ms) => work(group, ms * group.gateways.length), WARM_UPS * warmUpMs),
      );
    for (const { pid } of Object.values(groups).flatMap(({ gateways }) => gateways)) limitCpu(pid, SHARE);
    const rows: Row[] = [];
    for (const [figure, work] of Object.entries(WORK)) {
      const taken = await interleave(
        rounds,
        contenders(work, WINDOWS * windowMs),
        figure.startsWith("webhooks") ? STORED_MS : 0,
      );
      const row = (text: string, ours: Contender, against: Contender, name: string, target?: Target): Row => ({
        subject: "several gateways",
        figure: `${figure}, ${text}`,
        unit: "/s",
        ours: taken[ours],
        bare: { name, rounds: taken[against] },
        ...(target && { target }),
      });
      rows.push(
        row("PostgreSQL", "one", "sqlite", "SQLite"),
        row("2 gateways", "two", "one", "1 gateway", ratioAtLeast(1.7)),
        row("3 gateways", "three", "one", "1 gateway", ratioAtLeast(2.4)),
      );
    }
    const late = [await herd(model.url, database.schema("herd"))];
    const figure = `${HERD} clients of a drained gateway come back at 2 others, slowest p99 of their calls`;
    return [...rows, { subject: "several gateways", figure, unit: "ms", ours: late, target: atMost(100, "ms") }];
  },
};

/** One of three gateways is stopped, and its clients come back at the two others. @returns p99 of calls meanwhile, of the slower one */
async function herd(modelUrl: string, url: string): Promise<number> {
  await using group = await startGroup(3, modelUrl, url);
  const [leaving, ...others] = group.gateways;
  const clients = await openSockets({ url: leaving?.url ?? "", token: TOKEN }, HERD);
  const back: LoadSocket[] = [];
  let failure: Error | undefined;
  for (const [index, client] of clients.entries())
    client.onFailure(() => {
      const next = { url: others[index % others.length]?.url ?? "", token: TOKEN };
      openSocket(next).then(
        (socket) => back.push(socket),
        (error: Error) => (failure = error),
      );
    });
  const over = new AbortController();
  try {
    const measuring = Promise.all(others.map(({ url: at }) => callTimes(at, over.signal)));
    process.kill(leaving?.pid ?? 0, "SIGTERM");
    await until(() => back.length === HERD || failure !== undefined, "all clients to come back", HERD_MS);
    over.abort();
    if (failure) throw failure;
    return Math.max(...(await measuring).map((times) => percentile(times, 0.99)));
  } finally {
    over.abort();
    closeAll([...clients, ...back]);
  }
}

/** Milliseconds of calls, one after the other, until `over`. */
async function callTimes(url: string, over: AbortSignal): Promise<readonly number[]> {
  const socket = await openSocket({ url, token: TOKEN });
  const requests = makeRequests(NAMES.healthSized);
  const times: number[] = [];
  let answered = () => {};
  socket.listen((buffer, start, end) => {
    if (answeredBy(buffer, start, end) >= 0) answered();
  });
  for (let number = 0; !over.aborted; number++) {
    const begun = performance.now();
    const done = new Promise<void>((resolve) => (answered = resolve));
    for (const bytes of requests.take(number, 1)) socket.write(bytes);
    await done;
    times.push(performance.now() - begun);
    await sleep(CALL_EVERY_MS);
  }
  socket.close();
  return times;
}

/** @param url of the database; absent: the file of the gateway */
async function startGroup(count: number, modelUrl: string, url?: string): Promise<Group> {
  const storage = url === undefined ? {} : { "storage-postgres": { url } };
  const plugins = url === undefined ? {} : { plugins: { entries: { "storage-postgres": { enabled: true } } } };
  const hooks = { enabled: true, token: HOOK_TOKEN };
  const config = { ...modelConfig(modelUrl, RUNS * 2), ...storage, ...plugins, hooks };
  const gateways: LoadedGateway[] = [];
  const sockets: LoadSocket[] = [];
  const stop = async () => {
    closeAll(sockets);
    await Promise.all(gateways.map((gateway) => gateway.stop()));
  };
  const open = async (all: number) => {
    const opened: LoadSocket[][] = [];
    for (const { url: at } of gateways) {
      const own = await openSockets({ url: at, token: TOKEN }, all / count);
      sockets.push(...own);
      opened.push(own);
    }
    return Array.from({ length: all / count }, (_, at) => opened.flatMap((own) => own[at] ?? [])).flat();
  };
  try {
    for (let number = 0; number < count; number++) gateways.push(await startGateway(config));
    const client = await connect({ url: gateways[0]?.url ?? "", token: TOKEN });
    await client.call(bench.seed, { sessions: 100, messages: 1, sessionKey: "agent:main:main" });
    await client.close();
    const callers = await open(CONNECTIONS * count);
    const receivers = await open(RECEIVERS);
    const talkers = await open(count);
    return { gateways, callers, receivers, talkers, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
