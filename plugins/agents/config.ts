/** The configuration section `agents`. */
import { NonEmpty, type Static, Strict, Type } from "@svc/sdk";

/** A model reference (`provider/id` or a bare id), alone or with others to try when it cannot be used. */
const ModelSetting = Type.Union([
  NonEmpty,
  Strict({ primary: NonEmpty, fallbacks: Type.Optional(Type.Array(NonEmpty)) }),
]);

const text = Type.Optional(Type.String());

/** How an agent presents itself. Spec: protocol/methods-agent.md §4. */
const Identity = Strict({ name: text, theme: text, emoji: text, avatar: text });

const Defaults = Strict(
  {
    model: Type.Optional(ModelSetting),
    timeoutSeconds: Type.Integer({ default: 600, minimum: 1, description: "seconds a run may take, once it started" }),
    maxConcurrent: Type.Integer({ default: 4, minimum: 1, description: "runs at a time, all sessions together" }),
    // Choice: a bound on rounds; a model that keeps calling tools would never end.
    maxToolRounds: Type.Integer({ default: 25, minimum: 1, description: "times one run may go back to its tools" }),
    // Choice: the prompt is plain configuration; the spec leaves its source open.
    systemPrompt: Type.Optional(Type.String()),
    verboseDefault: Type.Optional(Type.Union([Type.Literal("off"), Type.Literal("on"), Type.Literal("full")])),
  },
  { default: {} },
);

const Agent = Strict({
  id: NonEmpty,
  name: Type.Optional(NonEmpty),
  default: Type.Optional(Type.Boolean()),
  model: Type.Optional(ModelSetting),
  systemPrompt: Type.Optional(Type.String()),
  identity: Type.Optional(Identity),
});

/** Section `agents`. Spec: http/config-keys.md, as far as this plugin goes. */
export const AgentsConfig = Strict({ defaults: Defaults, list: Type.Optional(Type.Array(Agent)) });

export type AgentsConfig = Static<typeof AgentsConfig>;
export type ModelSetting = Static<typeof ModelSetting>;
