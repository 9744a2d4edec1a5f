/** The benchmark's model server, in the load process. The question determines the pace of the answer. */
import { type FakeModelServer, startFakeModelServer } from "@svc/sdk/testing";

/** Milliseconds before each piece of a paced answer: 50 tokens a second. */
export const PACE_MS = 20;

/** Paces of answers. The question contains the name of one, possibly among text that a gateway adds. */
export const ANSWERS = {
  /** 20 tokens at once. */
  short: { question: "short answer", tokens: 20, delayMs: 0 },
  /** 200 tokens at once. */
  burst: { question: "long answer", tokens: 200, delayMs: 0 },
  /** 25 tokens, one each `PACE_MS`. */
  paced: { question: "paced answer", tokens: 25, delayMs: PACE_MS },
} as const;

export type AnswerKind = keyof typeof ANSWERS;

export function startModel(): Promise<FakeModelServer> {
  return startFakeModelServer({
    replies({ body }) {
      const asked = JSON.stringify(body.messages?.at(-1)?.content ?? "");
      const kind = Object.values(ANSWERS).find(({ question }) => asked.includes(question)) ?? ANSWERS.short;
      return { pieces: Array.from({ length: kind.tokens }, (_, index) => `token${index} `), delayMs: kind.delayMs };
    },
  });
}

/** Configuration of a gateway that uses this server. */
export function modelConfig(baseUrl: string, concurrentRuns: number): Record<string, unknown> {
  return {
    models: { default: "bench/model", providers: { bench: { baseUrl, apiKey: "none", models: [{ id: "model" }] } } },
    agents: { defaults: { maxConcurrent: concurrentRuns } },
  };
}
