/**
 * Every hook of `gateway.hooks` with three facts: when it runs, what a return value does and what a throw does. Each
 * owner declares its hooks in `<domain>/hooks.ts`. Those files contain only plain data and type imports, so that
 * `@svc/sdk` evaluates no domain module.
 */
import { agentHooks } from "./agents/hooks.ts";
import type { HookFacade } from "./hooks.ts";
import { hostHooks } from "./host-hooks.ts";
import { modelHooks } from "./models/hooks.ts";
import { nodeHooks } from "./nodes/hooks.ts";
import { sessionHooks } from "./sessions/hooks.ts";
import { toolHooks } from "./tools/hooks.ts";
import { webhookHooks } from "./webhooks/hooks.ts";

/** The catalogue of hooks. Each key is the name a plugin uses: `gateway.hooks.<key>`. */
export const HOOKS = {
  ...hostHooks,
  ...webhookHooks,
  ...sessionHooks,
  ...modelHooks,
  ...agentHooks,
  ...toolHooks,
  ...nodeHooks,
} as const;

/** Type of `gateway.hooks`. */
export type GatewayHooks = { readonly [K in keyof typeof HOOKS]: HookFacade<(typeof HOOKS)[K]> };
