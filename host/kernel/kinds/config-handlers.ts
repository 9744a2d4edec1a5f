/** Handlers that apply configuration changes without a reload, for keys that the plugin's schema marks as hot. */
import { Type } from "@svc/sdk";
import { defineKind } from "../kind.ts";

export type ConfigHandler = (config: unknown, sections: Readonly<Record<string, unknown>>) => void | Promise<void>;

export interface DeclaredHandler {
  readonly handler: ConfigHandler;
}

export const configHandlers = defineKind<DeclaredHandler>({
  name: "configHandlers",
  noun: "handler",
  shape: Type.Object({ name: Type.String() }),
  describe: () => ({ name: "configChanged" }),
  members: (record) => ({ configChanged: (handler: ConfigHandler) => record({ handler }) }),
  asleep: () => undefined,
});
