/** A gateway with the wizard and parts of a test, and a client that answers steps. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { definePlugin, type Plugin, type ResultOf } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";
import { ConfigStore } from "@svc/sdk/config";
import { SetupPart, type SetupQuestion, type SetupStep, wizard, type WizardStep } from "@svc/sdk/wizard";
import { fileGateway } from "../../conformance/file-gateway.ts";

export type Progress = ResultOf<typeof wizard.next>;

/** A plugin with these parts. */
export function partsPlugin(parts: Readonly<Record<string, SetupPart>>, id = "guide"): Plugin {
  return definePlugin({
    id,
    api: "^1.0.0",
    setup(gateway) {
      for (const [name, part] of Object.entries(parts)) gateway.extend(SetupPart, name, part);
    },
  });
}

type Part = Partial<Pick<SetupPart, "start" | "next">>;

/** A part with defaults: it ends at once. */
export function part(title: string, order: number, { start, next }: Part = {}): SetupPart {
  return {
    title,
    order,
    start: start ?? (async () => ({ done: true })),
    next: next ?? (async () => ({ done: true })),
  };
}

/** A part with one question; `end` makes its end from the answer. */
export function asking(
  title: string,
  order: number,
  question: SetupQuestion,
  end: (answer: unknown) => SetupStep = () => ({ done: true }),
): SetupPart {
  return part(title, order, { start: async () => ({ ask: question }), next: async ({ answer }) => end(answer) });
}

export async function startWizard(t: TestContext, plugins: readonly (Plugin | string)[], file = "{}") {
  const found: { store?: ConfigStore } = {};
  const probe = definePlugin({
    id: "probe",
    api: "^1.0.0",
    requires: { store: ConfigStore },
    setup: (gateway) => gateway.start(() => void (found.store = gateway.services.store)),
  });
  const running = await fileGateway(t, file, { plugins: ["wizard", ...plugins, probe] });
  const { store } = found;
  if (!store) throw new Error("the probe did not start");
  return {
    ...running,
    store,
    /** Another writer of the configuration. */
    patch: async (raw: string) => {
      const { hash } = await store.snapshot();
      await store.write({ mode: "patch", raw, baseHash: hash, actor: "test", action: "test" });
    },
    written: () => JSON.parse(readFileSync(join(running.stateDir, "svc.json"), "utf8")),
    setup: await setupAt(running.client),
  };
}

export async function setupAt(client: GatewayClient) {
  let sessionId = "";
  let step: WizardStep | undefined;
  const keep = (progress: Progress) => {
    ({ step } = progress);
    return progress;
  };
  return {
    get sessionId() {
      return sessionId;
    },
    get step(): WizardStep {
      if (!step) throw new Error("no step is pending");
      return step;
    },
    async start(params: { mode?: "local" | "remote"; workspace?: string } = {}) {
      const started = await client.call(wizard.start, params);
      ({ sessionId } = started);
      keep(started);
      return started;
    },
    async answer(value?: unknown) {
      const answer = { stepId: step?.id ?? "none", ...(value === undefined ? {} : { value }) };
      return keep(await client.call(wizard.next, { sessionId, answer }, { timeoutMs: 0 }));
    },
    poll: async () => keep(await client.call(wizard.next, { sessionId })),
    status: () => client.call(wizard.status, { sessionId }),
    cancel: () => client.call(wizard.cancel, { sessionId }),
  };
}
