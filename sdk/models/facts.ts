/** The `ModelFacts` extension point: public facts about models, merged below the configuration. */
import { defineExtensionPoint } from "../service.ts";

/**
 * Facts of one day. Choice: a table in one string, since contributions of sleeping plugins are read at every start, and
 * these are parsed on first use only.
 */
export interface ModelFacts {
  /** Day on which the facts were checked, `YYYY-MM-DD`. */
  readonly asOf: string;
  /**
   * One model per line, sorted by provider and id; columns are separated by blanks, `-` stands for an unknown value:
   *
   *     provider id contextWindow maxTokens traits input output cacheRead cacheWrite
   *
   * Then, if long prompts have other prices, the number of prompt tokens above which they apply, and the four prices
   * again. Limits are in tokens, prices in US dollars per million tokens; without the four prices the price is
   * unknown. Traits are letters: `t` text, `i` image, `d` document, `r` reasoning, `x` thinking level `xhigh`, `p`
   * preferred among the models of its provider, `o` old: known, but not offered.
   */
  readonly table: string;
}

/** Token of the extension point. */
export const ModelFacts = defineExtensionPoint<ModelFacts>("model.facts", {
  summary:
    "Limits, inputs and prices of public models. Owned by the plugin `models`, which merges them below the configuration; contributed by `model-facts`. If several plugins know a model, the facts of the latest day apply.",
  remotable: true,
});
