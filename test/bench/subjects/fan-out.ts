/** One event to all connections: deliveries per second, and the server's cost of each. The load generator saturates first. */
import { atMost, type Row, type Target } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { makeRequests } from "../load/requests.ts";
import { closeAll, type LoadSocket, openSockets, type Peer } from "../load/socket.ts";
import { type ServerProcess, serverScript, startServer } from "../server-process.ts";
import { NAMES } from "../servers/answers.ts";
import { interleave, type Results, type Subject } from "../suite.ts";

const RECEIVERS = [100, 1_000] as const;
/**
 * Events in flight. With one event at a time no writes can be combined; the target applies to this figure. With several
 * events neither side waits for the other, and the gateway combines the writes of one tick. Events at an ordinary pace
 * would not be combined, so that figure has no target.
 */
const UNDER_WAY = { single: 1, several: 4 } as const;
const DRAIN_MS = 10_000;

interface FanOut {
  readonly perSecond: number;
  /** Server CPU for one delivery, in microseconds. */
  readonly cpuMicros: number;
}

/** Position of the first letter of an event's name, and the letter of the measured event, unique among all events. */
const NAME_AT = '{"type":"event","event":"'.length;
const KIND_AT = '{"type":"'.length;
const EVENT = "e".charCodeAt(0);
const NEWS = NAMES.news.charCodeAt(0);

/**
 * Publishes for `ms` milliseconds, the next event once one has reached all receivers.
 * @param publishers take turns; some of the `sockets`
 * @returns the number of deliveries
 */
export function publish(
  sockets: readonly LoadSocket[],
  publishers: readonly LoadSocket[],
  inFlight: number,
  ms: number,
): Promise<number> {
  const requests = makeRequests(NAMES.publish);
  const end = performance.now() + ms;
  return new Promise((resolve, reject) => {
    const stuck = setTimeout(() => reject(new Error("events did not arrive")), ms + DRAIN_MS);
    let published = 0;
    let received = 0;
    const send = () => {
      for (const bytes of requests.take(published, 1)) publishers[published % publishers.length]?.write(bytes);
      published++;
    };
    const onChunk = () => {
      while (performance.now() < end && received >= (published - inFlight + 1) * sockets.length) send();
      if (performance.now() < end || received < published * sockets.length) return;
      clearTimeout(stuck);
      resolve(received);
    };
    for (const socket of sockets) {
      socket.onFailure((error) => {
        clearTimeout(stuck);
        reject(error);
      });
      socket.listen((buffer, start) => {
        if (buffer[start + KIND_AT] === EVENT && buffer[start + NAME_AT] === NEWS) received++;
      }, onChunk);
    }
    onChunk();
  });
}

async function measure(
  server: ServerProcess,
  sockets: readonly LoadSocket[],
  inFlight: number,
  ms: number,
): Promise<FanOut> {
  const before = await server.ask("usage");
  const begun = performance.now();
  const deliveries = await publish(sockets, sockets.slice(0, 1), inFlight, ms);
  const seconds = (performance.now() - begun) / 1_000;
  const after = await server.ask("usage");
  return { perSecond: deliveries / seconds, cpuMicros: (after.cpuMicros - before.cpuMicros) / deliveries };
}

const CPU = atMost(6.5, "us");

function row(figure: string, taken: Results<"ours" | "bare", FanOut>, value: keyof FanOut, target?: Target): Row {
  return {
    subject: "fan-out",
    figure,
    unit: value === "perSecond" ? "/s" : "us",
    ours: taken.ours.map((result) => result[value]),
    bare: { name: "bare send per socket", rounds: taken.bare.map((result) => result[value]) },
    ...(target ? { target } : {}),
  };
}

export const fanOut: Subject = {
  name: "fan-out",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using gateway = await startGateway();
    await using bare = await startServer([serverScript("bare-ws")]);
    const peers: { readonly ours: Peer; readonly bare: Peer } = { ours: { url: gateway.url, token: TOKEN }, bare };
    const rows: Row[] = [];
    for (const receivers of RECEIVERS) {
      const ours = await openSockets(peers.ours, receivers);
      const plain = await openSockets(peers.bare, receivers).catch((error: unknown) => {
        closeAll(ours);
        throw error;
      });
      try {
        const contenders = (inFlight: number, ms: number) => ({
          ours: () => measure(gateway, ours, inFlight, ms),
          bare: () => measure(bare, plain, inFlight, ms),
        });
        await interleave(1, contenders(UNDER_WAY.several, warmUpMs));
        const single = await interleave(rounds, contenders(UNDER_WAY.single, windowMs));
        const several = await interleave(rounds, contenders(UNDER_WAY.several, windowMs));
        rows.push(
          row(`${receivers} receivers, one event at a time, server CPU a delivery`, single, "cpuMicros", CPU),
          row(`${receivers} receivers, ${UNDER_WAY.several} under way, server CPU a delivery`, several, "cpuMicros"),
          row(`${receivers} receivers, ${UNDER_WAY.several} under way, deliveries`, several, "perSecond"),
        );
      } finally {
        closeAll([...ours, ...plain]);
      }
    }
    return rows;
  },
};
