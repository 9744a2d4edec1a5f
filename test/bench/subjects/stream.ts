/** A model's streamed answer: times of the first and the last token, compared with the model server itself and a bare relay. */
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { addsAtMost, both, atMost, median, type Row, ratioAtMost, type Rounds, type Target } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { type AnswerKind, modelConfig, PACE_MS, startModel } from "../load/model.ts";
import { type LoadSocket, openSocket } from "../load/socket.ts";
import { type Ask, askBySocket, askOverHttp, type Timing } from "../load/streams.ts";
import { serverScript, startServer } from "../server-process.ts";
import { interleave, type Results, type Subject } from "../suite.ts";

const STREAMS = 16;
/** Milliseconds between the starts of two streams, unless they start together. */
const STAGGER_MS = 30;
/** Answers in a round of one stream at full rate. */
const BURSTS = 10;

type Contender = "ours" | "relay" | "direct";

/** Sequential streams, for `ms` milliseconds and at least ten times. @returns the median of `value` */
async function oneByOne(ask: Ask, kind: AnswerKind, value: keyof Timing, ms: number): Promise<number> {
  const taken: Timing[] = [];
  const end = performance.now() + ms;
  while (taken.length < BURSTS || performance.now() < end) taken.push(await ask(kind));
  return median(taken.map((timing) => timing[value]));
}

/**
 * Concurrent streams, started `staggerMs` apart.
 * @returns the median time of the first token, without the pause of the model before it
 */
async function manyPaced(ask: Ask, staggerMs: number): Promise<number> {
  const stream = async (index: number) => {
    await sleep(index * staggerMs);
    return ask("paced");
  };
  const taken = await Promise.all(Array.from({ length: STREAMS }, (_, index) => stream(index)));
  return median(taken.map(({ firstMs }) => firstMs)) - PACE_MS;
}

function rows(figure: string, taken: Results<Contender, number>, targets: Partial<Record<Contender, Target>>): Row[] {
  const row = (name: string, rounds: Rounds, target?: Target): Row => ({
    subject: "stream",
    figure,
    unit: "ms",
    ours: taken.ours,
    bare: { name, rounds },
    ...(target ? { target } : {}),
  });
  return [row("bare relay", taken.relay, targets.relay), row("model server itself", taken.direct, targets.direct)];
}

export const stream: Subject = {
  name: "stream",
  async measure({ rounds, windowMs }) {
    await using model = await startModel();
    await using gateway = await startGateway(modelConfig(model.url, STREAMS));
    await using relay = await startServer([serverScript("bare-relay"), model.url]);
    const agent = new Agent({ keepAlive: true });
    const sockets: LoadSocket[] = [];
    try {
      const open = async (url: string, token?: string) => {
        const socket = await openSocket({ url, ...(token === undefined ? {} : { token }) });
        sockets.push(socket);
        return askBySocket(socket);
      };
      const asks = {
        ours: await open(gateway.url, TOKEN),
        relay: await open(relay.url),
        direct: askOverHttp(model.url, agent),
      };
      const each = (work: (ask: Ask) => Promise<number>) => ({
        ours: () => work(asks.ours),
        relay: () => work(asks.relay),
        direct: () => work(asks.direct),
      });
      const first = each((ask) => oneByOne(ask, "short", "firstMs", windowMs));
      await interleave(1, first);
      const one = await interleave(rounds, first);
      const burst = await interleave(
        rounds,
        each((ask) => oneByOne(ask, "burst", "lastMs", 0)),
      );
      const together = await interleave(
        rounds,
        each((ask) => manyPaced(ask, 0)),
      );
      const staggered = await interleave(
        rounds,
        each((ask) => manyPaced(ask, STAGGER_MS)),
      );
      return [
        ...rows("chat.send, 1 stream, first token", one, { direct: both(atMost(6, "ms"), addsAtMost(4, one.direct)) }),
        ...rows("chat.send, 1 stream, 200 tokens at full rate, last token", burst, { relay: ratioAtMost(2) }),
        ...rows(`chat.send, ${STREAMS} streams of 50 tokens/s begun together, first token`, together, {
          direct: atMost(20, "ms"),
        }),
        ...rows(`chat.send, ${STREAMS} streams of 50 tokens/s begun in turn, first token`, staggered, {
          direct: atMost(20, "ms"),
        }),
      ];
    } finally {
      for (const socket of sockets) socket.close();
      agent.destroy();
    }
  },
};
