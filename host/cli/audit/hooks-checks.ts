/** Checks of the token that webhook senders authenticate with. No findings while webhooks are disabled. Pure. */
import { configAt } from "@svc/sdk/cli";
import { AUDIT_LEAST, weaknessOf } from "@svc/host/local";
import { RANDOM } from "./gateway-checks.ts";
import type { HostCheck, HostHit, HostView } from "./view.ts";

const whileOn =
  (find: (view: HostView) => readonly HostHit[]): HostCheck["find"] =>
  (view) =>
    configAt(view.config, "hooks.enabled") === true ? find(view) : [];

function tokenOf({ config }: HostView): string | undefined {
  const token = configAt(config, "hooks.token");
  return (typeof token === "string" && token.trim()) || undefined;
}

const NEW_TOKEN = `svc config set --string hooks.token ${RANDOM}`;

export const HOOKS_CHECKS: readonly HostCheck[] = [
  {
    id: "hooks.gateway-token",
    severity: "critical",
    why: "Every webhook sender has admin access.",
    find: whileOn((view) => {
      const token = tokenOf(view);
      if (token === undefined || token !== view.auth.secret?.text) return [];
      return [{ about: "hooks.token", message: "It equals the gateway's own secret.", fix: NEW_TOKEN }];
    }),
  },
  {
    id: "hooks.weak-token",
    severity: "critical",
    why: "Anyone who guesses it can start work on this gateway.",
    find: whileOn((view) => {
      const token = tokenOf(view);
      const weakness = token === undefined ? "is not set" : weaknessOf(token, AUDIT_LEAST.token);
      if (weakness === undefined) return [];
      const severity = view.exposure === "none" ? { severity: "warning" as const } : {};
      return [{ about: "hooks.token", message: `The webhook token ${weakness}.`, fix: NEW_TOKEN, ...severity }];
    }),
  },
];
