/** Facts about public models. Data only: the plugin stays asleep, since its contribution has no functions. */
import { definePlugin } from "@svc/sdk";
import { ModelFacts } from "@svc/sdk/models";
import { AS_OF, TABLE } from "./table.ts";

export default definePlugin({
  id: "model-facts",
  api: "^1.0.0",
  setup: (gateway) => gateway.extend(ModelFacts, "public-models", { asOf: AS_OF, table: TABLE }),
});
