/** The configuration section `cron`. Spec: http/config-keys.md. */
import { DURATION_PATTERN } from "@svc/kit/time";
import { type Static, Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";

/** Spec: §10. */
export const ONE_SHOT_BACKOFF_MS = [30_000, 60_000, 300_000];

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const Mode = Type.Optional(
  Type.Enum(["announce", "webhook"], { description: "announce: send through a channel; webhook: post to a URL" }),
);

export const CronConfig = Type.Object({
  enabled: Type.Boolean({ default: true, description: "false: jobs run only by hand" }),
  maxConcurrentRuns: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: "jobs that run at the same time. Default: no limit, so that a job that hangs delays no other",
    }),
  ),
  retry: Type.Object(
    {
      maxAttempts: Type.Integer({
        default: 3,
        minimum: 0,
        maximum: 10,
        description: "retries of a job that runs once",
      }),
      backoffMs: Type.Array(Type.Integer({ minimum: 0 }), {
        default: ONE_SHOT_BACKOFF_MS,
        minItems: 1,
        maxItems: 10,
        description: "milliseconds before each retry; the last value also holds for all further retries",
      }),
      retryOn: Type.Array(Type.Enum(["rate_limit", "network", "timeout", "server_error"]), {
        default: ["rate_limit", "network", "timeout", "server_error"],
        description: "failures that are retried",
      }),
    },
    { default: {}, additionalProperties: false },
  ),
  webhookToken: Type.Optional(SecretSetting({ description: "sent to webhooks as `Authorization: Bearer …`" })),
  sessionRetention: Type.Union([Type.String({ pattern: DURATION_PATTERN }), Type.Literal(false)], {
    default: "24h",
    description: "how long the session of each run is kept, e.g. `12h` or `7d`; false: forever",
  }),
  runLog: Type.Object(
    { keepLines: Type.Integer({ default: 2_000, minimum: 1, description: "run records kept for each job" }) },
    { default: {}, additionalProperties: false },
  ),
  failureAlert: Type.Object(
    {
      enabled: Type.Boolean({ default: false, description: "for jobs without a `failureAlert` of their own" }),
      after: Type.Integer({ default: 2, minimum: 1, description: "errors in a row before the first alert" }),
      cooldownMs: Type.Integer({
        default: 3_600_000,
        minimum: 0,
        description: "milliseconds between two alerts of one job",
      }),
      mode: Mode,
      accountId: text("account of the channel"),
    },
    { default: {}, additionalProperties: false },
  ),
  failureDestination: Type.Optional(
    Strict({
      channel: text("default: the channel of the last message in the agent's main session"),
      to: text("recipient, or the URL of a webhook"),
      accountId: text("account of the channel"),
      mode: Mode,
    }),
  ),
});
export type CronConfig = Static<typeof CronConfig>;
