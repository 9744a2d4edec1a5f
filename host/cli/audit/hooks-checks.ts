/** Checks of the section `hooks`. Webhooks that are off have no findings. Pure. */
import { configAt, entriesOf, setCommand, settingText, textsOf, unsetCommand } from "@svc/sdk/cli";
import { RANDOM } from "./gateway-checks.ts";
import type { HostCheck, HostHit, HostView } from "./view.ts";
import { weaknessOf } from "./weak-secret.ts";

/** Characters. */
const LEAST_TOKEN = 24;

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
    why: "Who guesses it gives work to your agents.",
    find: whileOn((view) => {
      const token = tokenOf(view);
      const weakness = token === undefined ? "is not set" : weaknessOf(token, LEAST_TOKEN);
      if (weakness === undefined) return [];
      const severity = view.exposure === "none" ? { severity: "warning" as const } : {};
      return [{ about: "hooks.token", message: `The token of webhooks ${weakness}.`, mend: NEW_TOKEN, ...severity }];
    }),
  },
  {
    id: "hooks.any-session",
    severity: "critical",
    why: "A sender can speak in any conversation, also in your own.",
    find: whileOn(({ config }) =>
      configAt(config, "hooks.allowRequestSessionKey") !== true ||
      textsOf(configAt(config, "hooks.allowedSessionKeyPrefixes")).some((prefix) => prefix !== "")
        ? []
        : [
            {
              about: "hooks.allowedSessionKeyPrefixes",
              message: "Senders choose the session, and its key may begin with anything.",
              mend: setCommand(["hooks", "allowedSessionKeyPrefixes"], ["hook:"]),
            },
          ],
    ),
  },
  {
    id: "hooks.any-agent",
    severity: "warning",
    why: "A sender picks the agent that may do the most.",
    find: whileOn(({ config }) => {
      const listed = configAt(config, "hooks.allowedAgentIds");
      if (Array.isArray(listed) && !textsOf(listed).includes("*")) return [];
      return [
        {
          about: "hooks.allowedAgentIds",
          message: "Senders may ask for every agent.",
          mend: setCommand(["hooks", "allowedAgentIds"], ["main"]),
        },
      ];
    }),
  },
  {
    id: "hooks.unmarked-content",
    severity: "critical",
    why: "The model cannot tell what a stranger wrote from what you wrote.",
    find: whileOn(({ config }) => {
      const mappings = entriesOf(configAt(config, "hooks.mappings")).map(
        ([at, mapping]) => [["hooks", "mappings", Number(at)], mapping] as const,
      );
      const presets = entriesOf(configAt(config, "hooks")).map(([key, section]) => [["hooks", key], section] as const);
      return [...mappings, ...presets]
        .filter(([, section]) => section["allowUnsafeExternalContent"] === true)
        .map(([path]) => ({
          about: settingText(path),
          message: "What is posted there is handed to the model unmarked.",
          mend: unsetCommand([...path, "allowUnsafeExternalContent"]),
        }));
    }),
  },
];
