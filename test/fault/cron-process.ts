/**
 * A gateway whose jobs use a separate clock that runs fast and can be set. Started by `cron-kill.test.ts` and `gateways-cron.test.ts`, which
 * stop, kill and resume it. argv: state directory, real ms, the job time at that ms, speed factor.
 */
import { type Clock, definePlugin, type Plugin } from "@svc/sdk";
import { cron } from "@svc/sdk/cron";
import { createGateway } from "@svc/host";
import cronPlugin from "../../plugins/cron/plugin.ts";

const [, , stateDir = "", realText = "0", jobText = "0", rateText = "1"] = process.argv;
const { SVC_DATABASE_URL: url } = process.env;
const rate = Number(rateText);
let offset = Number(jobText) - Number(realText) * rate;

/** The clock the plugin uses as the time of this machine. */
const clock: Clock = {
  now: () => Math.round(Date.now() * rate + offset),
  elapsed: () => performance.now() * rate,
  setTimeout(callback, ms) {
    const timer = setTimeout(callback, ms / rate);
    return () => clearTimeout(timer);
  },
  setInterval(callback, ms) {
    const timer = setInterval(callback, Math.max(1, ms / rate));
    return () => clearInterval(timer);
  },
};

/** Everything except the clock is the gateway's. */
const fast: Plugin = definePlugin({
  ...cronPlugin,
  setup: (gateway) => cronPlugin.setup(Object.create(gateway, { clock: { value: clock } }) as typeof gateway),
});

const gateway = await createGateway({
  env: url === undefined ? {} : { SVC_DATABASE_URL: url },
  port: 0,
  stateDir,
  config: {
    agents: { defaults: { skipBootstrap: true } },
    "provider-offline": { wordDelayMs: 1 },
    cron: { sessionRetention: false, runLog: { keepLines: 100_000 } },
  },
  logLevel: "error",
  plugins: ["storage-sqlite", "sessions", "models", "provider-offline", "tools", "agents", "heartbeat", fast],
});
process.send?.({ ready: true, url: gateway.url, auth: gateway.auth, methods: Object.keys(cron).length });
process.on("message", (message: { readonly jumpMs?: number; readonly stop?: true }) => {
  if (message.jumpMs !== undefined) offset += message.jumpMs;
  if (message.stop) void gateway.stop().then(() => process.exit(0));
});
