/** The tools there are, in the order of the catalogue, and what the policy leaves of them. */
import { type Contribution, coversScope, type ExtensionView, type Logger } from "@svc/sdk";
import type { Tool, ToolScene, ToolSource } from "@svc/sdk/tools";

/** A tool and who contributed it. */
export interface KnownTool {
  readonly name: string;
  readonly tool: Tool;
  /** To charge its plugin; of a source, the source's. */
  readonly contribution: Pick<Contribution<unknown>, "id" | "plugin">;
}

/** What the policy says about a set of tools. */
export type Judge = (tools: readonly KnownTool[], scene: ToolScene) => readonly KnownTool[];

export interface ShelfSources {
  readonly tools: ExtensionView<Tool>;
  readonly sources: ExtensionView<ToolSource>;
  readonly judge: Judge;
  readonly log: Pick<Logger, "warn">;
}

export class ToolShelf {
  readonly #from: ShelfSources;
  /** Names of sources that somebody else has, told once. */
  readonly #told = new Set<string>();

  constructor(from: ShelfSources) {
    this.#from = from;
  }

  /** Every tool there is, whoever asks. */
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

  /** What the policy leaves, and the principal may use. */
  allowed(scene: ToolScene): readonly KnownTool[] {
    const { scopes } = scene.principal;
    const usable = this.#from.judge(this.all(), scene);
    return usable.filter(
      ({ tool }) => coversScope(scopes, tool.scope) && (!tool.ownerOnly || coversScope(scopes, "operator.admin")),
    );
  }

  /** One tool, when it is allowed here; a missing scope is told by whoever calls it, the policy's no by nobody. */
  find(name: string, scene: ToolScene): KnownTool | undefined {
    const known = this.all().find((one) => one.name === name);
    return known && this.#from.judge([known], scene)[0];
  }

  #tell(name: string, plugin: string): void {
    if (this.#told.has(name)) return;
    this.#told.add(name);
    this.#from.log.warn({ tool: name, plugin }, "a tool is left out: another plugin has one of this name");
  }
}
