/** Observes the calls of `setup` of one plugin, to detect resources that `setup` opens. */
import type { Plugin } from "@svc/sdk";
import { openedBy } from "@svc/sdk/testing";

export interface Setups {
  /** The plugin with an observed `setup`. */
  readonly plugin: Plugin;
  /** Kinds of resources that every setup so far has opened. */
  alwaysOpened(): readonly string[];
  readonly count: number;
}

export function watchSetups(plugin: Plugin): Setups {
  const opened: string[][] = [];
  return {
    plugin: {
      ...plugin,
      setup: (gateway) =>
        openedBy(
          () => plugin.setup(gateway),
          (kinds) => void opened.push(kinds),
        ),
    },
    alwaysOpened() {
      const [first = [], ...others] = opened; // other code may open resources at the same time
      return first.filter((kind) => others.every((kinds) => kinds.includes(kind)));
    },
    get count() {
      return opened.length;
    },
  };
}
