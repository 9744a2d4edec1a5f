/** Shorthand for a plugin with the current API version. */
import { definePlugin, type Plugin, type Requirements, type Sections } from "@svc/sdk";
import type { TSchema } from "@svc/sdk";

type Setup<S extends TSchema, R extends Requirements, X extends Sections> = Plugin<S, R, X>["setup"];

export function pluginOf(id: string, setup: Plugin["setup"]): Plugin;
/** @param fields further members of the plugin, e.g. `requires` */
export function pluginOf<S extends TSchema, R extends Requirements = {}, X extends Sections = {}>(
  id: string,
  fields: Omit<Plugin<S, R, X>, "id" | "api" | "setup">,
  setup: Setup<S, R, X>,
): Plugin;
export function pluginOf(id: string, fields: object, setup: object = fields): Plugin {
  return definePlugin({ api: "^1.0.0", ...fields, id, setup } as Plugin);
}
