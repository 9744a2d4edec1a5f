/** Setup for webhook fault tests: a configuration, a transform, and a model that echoes its input. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type FakeModelReply,
  type FakeModelRequest,
  type FakeModelServer,
  startFakeModelServer,
} from "@svc/sdk/testing";
import { askedOf, systemOf } from "../plugins/webhook-scene.ts";

export const HOOK_TOKEN = "hook-token-of-the-fault-tests";

/** Maximum milliseconds per answer, so that faults hit some in progress. */
const SLOWEST_ANSWER_MS = 40;

/** Odd numbers become runs of an agent, even ones events; a mapping alone cannot decide this. */
const TRANSFORM = `import type { Transform } from "@svc/sdk/transform";

const route: Transform<{ number: number; note: string }> = ({ payload: { number, note } }) =>
  number % 2 === 1
    ? { kind: "agent", message: \`job-\${number}; \${note}\` }
    : { kind: "wake", text: \`wake-\${number}; \${note}\` };
export default route;
`;

const MAPPINGS = [
  // its runs share a conversation, which each run resets
  {
    id: "templated",
    match: { path: "templated" },
    messageTemplate: "job-{{number}}; {{note}}",
    name: "Templated",
    sessionKey: "hook:templated",
  },
  { id: "routed", match: { path: "routed" }, action: "wake", transform: { module: "route.ts" } },
];

/** Input of the model, whether or not its answer was stored. */
export class HookModel {
  readonly seen = new Set<string>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Answers a webhook's run with `did-<number>;`, any other turn with all notices so far. */
  readonly reply = (request: FakeModelRequest): FakeModelReply => {
    const job = /\bjob-(\d+);/.exec(askedOf(request))?.[1];
    const told = job === undefined ? (systemOf(request).match(/\b(?:wake|did)-\d+;/g) ?? []) : [`did-${job};`];
    if (job === undefined) for (const marker of told) this.seen.add(marker);
    const pieces = told.length === 0 ? ["nothing"] : told.map((marker) => `${marker} `);
    return { pieces, delayMs: (this.#random() * SLOWEST_ANSWER_MS) / pieces.length };
  };
}

export interface HookScene {
  readonly stateDir: string;
  readonly model: HookModel;
  readonly server: FakeModelServer;
}

/** A state directory for `svc gateway run`, deleted after the test. */
export async function openHookScene(t: TestContext, random: () => number): Promise<HookScene> {
  const model = new HookModel(random);
  const server = await startFakeModelServer({ replies: model.reply });
  const stateDir = await mkdtemp(join(tmpdir(), "svc-hook-fault-"));
  t.after(async () => {
    await server.close();
    await rm(stateDir, { recursive: true, force: true });
  });
  const config = {
    // the main session receives all events and must not exceed its context
    models: { providers: { fake: { baseUrl: server.url, models: [{ id: "m", contextWindow: 10_000_000 }] } } },
    agents: { defaults: { model: "fake/m", skipBootstrap: true, maxConcurrent: 8 } },
    plugins: { load: { paths: [fileURLToPath(new URL("./rows-plugin.js", import.meta.url))] } },
    hooks: { enabled: true, token: HOOK_TOKEN, mappings: MAPPINGS },
  };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  await mkdir(join(stateDir, "hooks/transforms"), { recursive: true });
  await writeFile(join(stateDir, "hooks/transforms/route.ts"), TRANSFORM);
  return { stateDir, model, server };
}
