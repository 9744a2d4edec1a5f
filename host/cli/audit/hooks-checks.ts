/** Checks of what senders of webhooks prove themselves with. Webhooks that are off have no findings. Pure. */
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
    why: "Every sender of webhooks is admin.",
    find: whileOn((view) => {
      const token = tokenOf(view);
      if (token === undefined || token !== view.auth.secret?.text) return [];
      return [{ about: "hooks.token", message: "It is the secret of the gateway itself.", mend: NEW_TOKEN }];
    }),
  },
  {
    id: "hooks.weak-token",
    severity: "critical",
    why: "Who guesses it gives work to this gateway.",
    find: whileOn((view) => {
      const token = tokenOf(view);
      const weakness = token === undefined ? "is not set" : weaknessOf(token, AUDIT_LEAST.token);
      if (weakness === undefined) return [];
      const severity = view.exposure === "none" ? { severity: "warning" as const } : {};
      return [{ about: "hooks.token", message: `The token of webhooks ${weakness}.`, mend: NEW_TOKEN, ...severity }];
    }),
  },
];
