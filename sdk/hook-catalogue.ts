/**
 * Every hook of `gateway.hooks`, and for each: when it runs, what a return means, what a throw does. An owner declares its
 * hooks in `<domain>/hooks.ts`. Those files hold plain data and import types only, so that `@svc/sdk` evaluates no domain.
 */
import { agentHooks } from "./agents/hooks.ts";
import type { HookFacade } from "./hooks.ts";
import { hostHooks } from "./host-hooks.ts";
import { modelHooks } from "./models/hooks.ts";
import { sessionHooks } from "./sessions/hooks.ts";
import { toolHooks } from "./tools/hooks.ts";
import { webhookHooks } from "./webhooks/hooks.ts";

/** The catalogue. Keys are the names plugins use: `gateway.hooks.<key>`. */
export const HOOKS = {
  ...hostHooks,
  ...webhookHooks,
  ...sessionHooks,
  ...modelHooks,
  ...agentHooks,
  ...toolHooks,
} as const;

/** What `gateway.hooks` offers. */
export type GatewayHooks = { readonly [K in keyof typeof HOOKS]: HookFacade<(typeof HOOKS)[K]> };
