/** All contributed tools, and those the policy allows. */
import { type Contribution, coversScope, type ExtensionView, type Logger } from "@svc/sdk";
import type { Tool, ToolScene, ToolSource } from "@svc/sdk/tools";

/** A tool and its contributor. */
export interface KnownTool {
  readonly name: string;
  readonly tool: Tool;
  /** The tool's contribution, or that of its source; failures are attributed to its plugin. */
  readonly contribution: Pick<Contribution<unknown>, "id" | "plugin">;
}

/** Returns the tools that the policy allows. */
export type Judge = (tools: readonly KnownTool[], scene: ToolScene) => readonly KnownTool[];

export interface ShelfSources {
  readonly tools: ExtensionView<Tool>;
  readonly sources: ExtensionView<ToolSource>;
  readonly judge: Judge;
  readonly log: Pick<Logger, "warn">;
}

export class ToolShelf {
  readonly #from: ShelfSources;
  /** Names of source tools that clash with another tool; each is logged once. */
  readonly #told = new Set<string>();

  constructor(from: ShelfSources) {
    this.#from = from;
  }

  /** All tools, regardless of the policy. */
  all(): readonly KnownTool[] {
    const { tools, sources } = this.#from;
    const byName = new Map<string, KnownTool>();
    for (const { id, plugin, value } of tools.list()) {
      byName.set(id, { name: id, tool: value, contribution: { id, plugin } });
    }
    for (const { id, plugin, value } of sources.list()) {
      for (const [name, tool] of value.tools()) {
        if (byName.has(name)) this.#tell(name, plugin);
        else byName.set(name, { name, tool, contribution: { id, plugin } });
      }
    }
    return [...byName.values()];
  }

  /** Tools that the policy allows and the principal may use. */
  allowed(scene: ToolScene): readonly KnownTool[] {
    const { scopes } = scene.principal;
    const usable = this.#from.judge(this.all(), scene);
    return usable.filter(
      ({ tool }) => coversScope(scopes, tool.scope) && (!tool.ownerOnly || coversScope(scopes, "operator.admin")),
    );
  }

  /** One tool, if the policy allows it. Scopes are not checked here: the caller reports a missing scope. */
  find(name: string, scene: ToolScene): KnownTool | undefined {
    const known = this.#known(name);
    return known && this.#from.judge([known], scene)[0];
  }

  #known(name: string): KnownTool | undefined {
    const { tools, sources } = this.#from;
    const found = tools.get(name);
    if (found) return { name, tool: found.value, contribution: { id: name, plugin: found.plugin } };
    for (const { id, plugin, value } of sources.list()) {
      for (const [known, tool] of value.tools())
        if (known === name) return { name, tool, contribution: { id, plugin } };
    }
    return undefined;
  }

  #tell(name: string, plugin: string): void {
    if (this.#told.has(name)) return;
    this.#told.add(name);
    this.#from.log.warn({ tool: name, plugin }, "a tool is ignored: another plugin has a tool with the same name");
  }
}
