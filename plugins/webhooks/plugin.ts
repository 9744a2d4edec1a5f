/** Webhooks: shows, tries, switches and replays them. They are taken and run by the host. */
import { definePlugin, notFound } from "@svc/sdk";
import { type ConfigEdit, ConfigStore } from "@svc/sdk/config";
import { webhooks, Webhooks } from "@svc/sdk/webhooks";
import { rowsNamed, switchEdits } from "./switching.ts";

export default definePlugin({
  id: "webhooks",
  api: "^1.0.0",
  requires: { engine: Webhooks, config: ConfigStore },

  setup(gateway) {
    const { services } = gateway;

    /** Only the file decides whether something has to be written: another writer may have been first. */
    async function turn(id: string, enabled: boolean, actor: string) {
      rowsNamed(services.engine.list(), id);
      let edits: readonly ConfigEdit[] = [];
      await services.config.edit({ actor, action: `webhooks.${enabled ? "enable" : "disable"}` }, (parsed) => {
        edits = switchEdits(parsed, rowsNamed(services.engine.list(), id), enabled);
        return edits;
      });
      return { id, enabled, changed: edits.length > 0 };
    }

    gateway.serve(webhooks, {
      list() {
        const { enabled, path, transformsDir } = services.engine;
        return { enabled, path, transformsDir, mappings: services.engine.list() };
      },
      async check() {
        const problems = await services.engine.check();
        return { ok: problems.every(({ severity }) => severity !== "error"), problems };
      },
      try: ({ params }) => services.engine.try(params),
      runs: async ({ params }) => ({ runs: await services.engine.runs(params) }),
      run: async ({ params: { runId } }) => ({
        run: (await services.engine.run(runId)) ?? notFound(`no webhook with the run id "${runId}"`),
      }),
      replay: async ({ params }) => ({ run: await services.engine.replay(params.runId) }),
      enable: ({ params, principal }) => turn(params.id, true, principal.id),
      disable: ({ params, principal }) => turn(params.id, false, principal.id),
      async init() {
        const written = await services.engine.prepareDirectory();
        return { directory: services.engine.transformsDir, written };
      },
    });
  },
});
