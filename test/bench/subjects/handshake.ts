/** Connections opened, accepted and closed a second, without a device: token, then `hello-ok`. */
import { type Row, ratioAtLeast, type Target } from "../figures.ts";
import { MINIMAL, startGateway, TOKEN } from "../gateways.ts";
import { openSocket, type Peer } from "../load/socket.ts";
import { serverScript, startServer } from "../server-process.ts";
import { interleave, type Subject } from "../suite.ts";

/** Handshakes at a time. */
const TOGETHER = 16;

async function handshakesPerSecond(peer: Peer, ms: number): Promise<number> {
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
  return (done / (performance.now() - begun)) * 1_000;
}

export const handshake: Subject = {
  name: "handshake",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using full = await startGateway();
    await using minimal = await startGateway({ plugins: { use: [...MINIMAL] } });
    await using bare = await startServer([serverScript("bare-ws")]);
    const contenders = (ms: number) => ({
      full: () => handshakesPerSecond({ url: full.url, token: TOKEN }, ms),
      minimal: () => handshakesPerSecond({ url: minimal.url, token: TOKEN }, ms),
      bare: () => handshakesPerSecond({ url: bare.url }, ms),
      turns: () => handshakesPerSecond({ url: `${bare.url}/challenge`, challenges: true }, ms),
    });
    await interleave(1, contenders(warmUpMs));
    const taken = await interleave(rounds, contenders(windowMs));
    const plain = { name: "bare ws, one turn", rounds: taken.bare };
    const sameTurns = { name: "bare ws that challenges", rounds: taken.turns };
    const row = (figure: string, ours: readonly number[], against: Row["bare"], target?: Target): Row => ({
      subject: "handshake",
      figure,
      unit: "/s",
      ours,
      ...(against ? { bare: against } : {}),
      ...(target ? { target } : {}),
    });
    return [
      row("token, no device, full bundle", taken.full, sameTurns, ratioAtLeast(0.7)),
      row("token, no device, full bundle", taken.full, plain, ratioAtLeast(0.7)),
      row("token, no device, minimal", taken.minimal, sameTurns),
    ];
  },
};
