/** Webhooks: runs transforms; records and runs what the host accepts; shows, tries, switches and replays webhooks. */
import { sharedClock } from "@svc/kit/ownership";
import { type Clock, definePlugin, HOOKS, lazy, live, messageOf, notFound, pause, unavailable } from "@svc/sdk";
import { type ConfigEdit, ConfigStore } from "@svc/sdk/config";
import { GatewayInfo } from "@svc/sdk/gateway";
import { type Owner, Ownership, Retention, Storage } from "@svc/sdk/storage";
import { webhooks, Webhooks, type WebhookRun } from "@svc/sdk/webhooks";
import { lazySetupPart, SetupPart } from "@svc/sdk/wizard";
import { prepareDirectory } from "./directory.ts";
import { Acceptance } from "./queue/acceptance.ts";
import { WebhookQueue } from "./queue/queue.ts";
import { replay } from "./queue/replay.ts";
import { WEBHOOK_RETENTION } from "./queue/retention.ts";
import { RunStore } from "./queue/run-store.ts";
import { rowsNamed, switchEdits } from "./switching.ts";
import { TransformFiles } from "./transform-files.ts";
import { createTransforms } from "./transforms/transforms.ts";

/** Milliseconds that a stop waits for webhooks in flight, and then again for the transforms to end. */
const STOP_MS = 2_000;

const setupCode = lazy(() => import("./setup-part.ts"));

export default definePlugin({
  id: "webhooks",
  api: "^1.0.0",
  requires: {
    engine: Webhooks,
    config: ConfigStore,
    host: GatewayInfo,
    storage: live(Storage),
    ownership: live(Ownership),
  },

  setup(gateway) {
    const { log, services, hooks, signal } = gateway;
    const clock = sharedClock(gateway.clock, {
      get aheadMs() {
        return services.ownership.get()?.aheadMs ?? 0;
      },
    });
    let owner: Owner | undefined;
    let unfollow = () => {};
    /** The storage may be replaced, and the lease may end, while this plugin runs. */
    const newOwner = async (): Promise<Owner> => {
      const ownership = services.ownership.get() ?? noStorage();
      owner = await ownership.owner().catch((error: unknown) => unavailable(messageOf(error), { retryAfterMs: 1_000 }));
      unfollow();
      unfollow = ownership.changed(() => queue.sweep());
      return owner;
    };
    let owning: Promise<Owner> | undefined;
    const ownerNow = async () =>
      owner?.isCurrent ? owner : (owning ??= newOwner().finally(() => (owning = undefined)));
    const store = new RunStore(() => services.storage.get() ?? noStorage(), ownerNow, clock);
    const emitter = gateway.emits(HOOKS.webhookFinished);
    const finished = (run: WebhookRun) => {
      if (emitter.isUsed()) void emitter.emit(run);
    };
    const queue: WebhookQueue = new WebhookQueue({
      store,
      clock,
      log,
      finished,
      action: (id) => services.engine.action(id),
      waits: () => void handOver(),
    });
    /** While the gateway stops and others go on, what waits is theirs. Never rejects. */
    const handOver = async () => {
      const ownership = services.ownership.get();
      if (!ownership || ownership.others === 0) return;
      await queue.release().catch((err: unknown) => log.warn({ err }, "webhooks wait until this gateway has stopped"));
      ownership.freed();
    };
    const acceptance = new Acceptance({ store, finished, queued: (...accepted) => queue.accepted(...accepted) });

    let files: TransformFiles | undefined;
    const running = () => files ?? unavailable("the plugin webhooks is still starting", { retryAfterMs: 500 });

    hooks.webhookTransformFile.tap(({ transform, call }) => files?.run(transform, call));
    hooks.webhookAccept.tap((webhook) => acceptance.accept(webhook));
    hooks.webhookRun.tap(async ({ runId }) => ({ run: (await store.find(runId))?.run }));
    gateway.busy(() => queue.isBusy);

    /** While webhooks are on: compiles transforms, and continues queued runs once all plugins have started. */
    const carryOn = () => {
      if (services.host.url === undefined) return;
      void files?.follow();
      if (services.engine.enabled) queue.start();
    };
    hooks.hostReady.tap(carryOn);
    hooks.hostStopping.tap(() => {
      queue.pause();
      void handOver();
    });
    hooks.configChanged.tap(carryOn);
    gateway.start(() => {
      const transforms = createTransforms({ stateDir: services.host.stateDir, clock, log });
      const started = (files = new TransformFiles({ engine: services.engine, transforms, clock, signal }));
      carryOn();
      return async () => {
        unfollow();
        await within(STOP_MS, clock, Promise.all([queue.stop(), acceptance.settled(), started.settled()]));
        await within(STOP_MS, clock, started.stop());
      };
    });
    gateway.extend(Retention, "webhooks", WEBHOOK_RETENTION);
    const setup = lazySetupPart({ title: "Webhooks", order: 500 }, async () =>
      (await setupCode()).createWebhookPart(services),
    );
    gateway.extend(SetupPart, "webhooks", setup);

    /** Only the file decides whether a write is needed: another writer may have been first. */
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
        const { enabled, path, transforms } = services.engine;
        return { enabled, path, transformsDir: transforms.directory, mappings: running().list() };
      },
      async check() {
        const problems = [...services.engine.check()];
        if (services.engine.enabled) problems.push(...(await running().check()));
        if (services.engine.enabled && !services.storage.get())
          problems.push({ path: "plugins.use", message: `${NO_STORAGE}; requests get 503`, severity: "error" });
        return { ok: problems.every(({ severity }) => severity !== "error"), problems };
      },
      try: ({ params }) => services.engine.try(params),
      runs: async ({ params }) => ({ runs: (await store.list(params)).map(({ run }) => run) }),
      async run({ params: { runId } }) {
        const { run, job } = (await store.find(runId)) ?? notFound(`no webhook with the run id "${runId}"`);
        return { run, ...(job ? { params: job.params } : {}) };
      },
      async replay({ params }) {
        const run = await replay(params.runId, store, clock);
        queue.look(run.action);
        return { run };
      },
      enable: ({ params, principal }) => turn(params.id, true, principal.id),
      disable: ({ params, principal }) => turn(params.id, false, principal.id),
      async init() {
        const { directory } = services.engine.transforms;
        return { directory, written: await prepareDirectory(directory) };
      },
    });
  },
});

const NO_STORAGE = "no running plugin provides storage";

function noStorage(): never {
  unavailable(`${NO_STORAGE}, so webhooks cannot be accepted; add a storage plugin to plugins.use`, {
    retryAfterMs: 5_000,
  });
}

/** Waits for `work`, at most `ms` milliseconds. */
async function within(ms: number, clock: Clock, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, pause(ms, clock, over.signal)]).finally(() => over.abort());
}
