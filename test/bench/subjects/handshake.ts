/** Connections opened, accepted and closed, without a device: rate per second, and the server's cost of each. */
import { type Row, ratioAtLeast, type Target } from "../figures.ts";
import { MINIMAL, startGateway, TOKEN } from "../gateways.ts";
import { openSocket, type Peer } from "../load/socket.ts";
import { type ServerProcess, serverScript, startServer } from "../server-process.ts";
import { interleave, type Subject } from "../suite.ts";

/** Concurrent handshakes. */
const TOGETHER = 16;

interface Handshakes {
  readonly perSecond: number;
  /** Server CPU for one of them, in microseconds. */
  readonly cpuMicros: number;
}

async function measure(server: ServerProcess, peer: Peer, ms: number): Promise<Handshakes> {
  const before = await server.ask("usage");
  const begun = performance.now();
  const end = begun + ms;
  let done = 0;
  const again = async () => {
    while (performance.now() < end) {
      const socket = await openSocket(peer);
      socket.close();
      done++;
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, again));
  const seconds = (performance.now() - begun) / 1_000;
  const after = await server.ask("usage");
  return { perSecond: done / seconds, cpuMicros: (after.cpuMicros - before.cpuMicros) / done };
}

export const handshake: Subject = {
  name: "handshake",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using full = await startGateway();
    await using minimal = await startGateway({ plugins: { use: [...MINIMAL] } });
    await using bare = await startServer([serverScript("bare-ws")]);
    const contenders = (ms: number) => ({
      full: () => measure(full, { url: full.url, token: TOKEN }, ms),
      minimal: () => measure(minimal, { url: minimal.url, token: TOKEN }, ms),
      bare: () => measure(bare, { url: bare.url }, ms),
      turns: () => measure(bare, { url: `${bare.url}/challenge`, challenges: true }, ms),
    });
    await interleave(1, contenders(warmUpMs));
    const taken = await interleave(rounds, contenders(windowMs));
    type Contender = keyof typeof taken;
    const row = (of: Contender, against: Contender, value: keyof Handshakes, target?: Target): Row => ({
      subject: "handshake",
      figure: `token, no device, ${of === "full" ? "full bundle" : of}${value === "cpuMicros" ? ", server CPU" : ""}`,
      unit: value === "cpuMicros" ? "us" : "/s",
      ours: taken[of].map((result) => result[value]),
      bare: {
        name: against === "turns" ? "bare ws that challenges" : "bare ws, one turn",
        rounds: taken[against].map((result) => result[value]),
      },
      ...(target ? { target } : {}),
    });
    return [
      row("full", "turns", "perSecond", ratioAtLeast(0.7)),
      row("full", "bare", "perSecond", ratioAtLeast(0.7)),
      row("full", "turns", "cpuMicros"),
      row("minimal", "turns", "perSecond"),
      row("minimal", "turns", "cpuMicros"),
    ];
  },
};
