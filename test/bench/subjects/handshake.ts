/** Connections opened, accepted and closed, with and without a device: rate per second, and the server's cost of each. */
import { createDevice, type KeptDevice } from "@svc/sdk/device";
import { atLeast, type Row, ratioAtLeast, type Target } from "../figures.ts";
import { MINIMAL, startGateway, TOKEN } from "../gateways.ts";
import { openSocket, type Peer } from "../load/socket.ts";
import { type ServerProcess, serverScript, startServer } from "../server-process.ts";
import { interleave, type Subject } from "../suite.ts";

/** Concurrent handshakes. */
const TOGETHER = 16;
/** Devices that are paired already where another one is. */
const CROWD = 3_000;

interface Handshakes {
  readonly perSecond: number;
  /** Server CPU for one of them, in microseconds. */
  readonly cpuMicros: number;
}

/** @param peer of each connection */
async function measure(server: ServerProcess, peer: () => Peer, ms: number): Promise<Handshakes> {
  const before = await server.ask("usage");
  const begun = performance.now();
  const end = begun + ms;
  let done = 0;
  const again = async () => {
    while (performance.now() < end) {
      const socket = await openSocket(peer());
      socket.close();
      done++;
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, again));
  const seconds = (performance.now() - begun) / 1_000;
  const after = await server.ask("usage");
  return { perSecond: done / seconds, cpuMicros: (after.cpuMicros - before.cpuMicros) / done };
}

/** Devices that nobody has seen, made before the clock runs: more than a round pairs. */
function newcomers(url: string, count: number): () => Peer {
  const devices = Array.from({ length: count }, () => createDevice());
  return () => ({ url, token: TOKEN, device: devices.pop() ?? createDevice() });
}

/** Pairs devices before the measurement. */
async function pair(url: string, count: number): Promise<void> {
  const next = newcomers(url, count);
  for (let done = 0; done < count; done += TOGETHER)
    await Promise.all(Array.from({ length: TOGETHER }, async () => (await openSocket(next())).close()));
}

export const handshake: Subject = {
  name: "handshake",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using full = await startGateway();
    await using minimal = await startGateway({ plugins: { use: [...MINIMAL] } });
    await using bare = await startServer([serverScript("bare-ws")]);
    await using crowded = await startGateway();
    await pair(crowded.url, CROWD);
    const known = createDevice();
    const as = (url: string, device?: KeptDevice): (() => Peer) => {
      const peer = { url, token: TOKEN, ...(device ? { device } : {}) };
      return () => peer;
    };
    const contenders = (ms: number) => ({
      full: () => measure(full, as(full.url), ms),
      minimal: () => measure(minimal, as(minimal.url), ms),
      known: () => measure(full, as(full.url, known), ms),
      fresh: () => measure(full, newcomers(full.url, 2 * ms), ms),
      crowded: () => measure(crowded, newcomers(crowded.url, 2 * ms), ms),
      bare: () => measure(bare, () => ({ url: bare.url }), ms),
      turns: () => measure(bare, () => ({ url: `${bare.url}/challenge`, challenges: true }), ms),
    });
    await interleave(1, contenders(warmUpMs));
    const taken = await interleave(rounds, contenders(windowMs));
    type Contender = keyof typeof taken;
    const challenging = "bare ws that challenges";
    const row = (of: Contender, against: Contender, value: keyof Handshakes, target?: Target): Row => ({
      subject: "handshake",
      figure: `token, no device, ${of === "full" ? "full bundle" : of}${value === "cpuMicros" ? ", server CPU" : ""}`,
      unit: value === "cpuMicros" ? "us" : "/s",
      ours: taken[of].map((result) => result[value]),
      bare: {
        name: against === "turns" ? challenging : "bare ws, one turn",
        rounds: taken[against].map((result) => result[value]),
      },
      ...(target ? { target } : {}),
    });
    const paired = (figure: string, of: Contender, against: Contender, name: string, target: Target): Row => ({
      subject: "handshake",
      figure: `token and ${figure}`,
      unit: "/s",
      ours: taken[of].map(({ perSecond }) => perSecond),
      bare: { name, rounds: taken[against].map(({ perSecond }) => perSecond) },
      target,
    });
    return [
      paired("a known device", "known", "turns", challenging, atLeast(2_000, "/s")),
      paired("a new device, which is paired", "fresh", "turns", challenging, atLeast(500, "/s")),
      paired(`a new device beside ${CROWD} others`, "crowded", "fresh", "ours, fewer devices", ratioAtLeast(0.9)),
      row("full", "turns", "perSecond", ratioAtLeast(0.7)),
      row("full", "bare", "perSecond", ratioAtLeast(0.7)),
      row("full", "turns", "cpuMicros"),
      row("minimal", "turns", "perSecond"),
      row("minimal", "turns", "cpuMicros"),
    ];
  },
};
