/** Which model is asked. Decides only. */
import { unavailable } from "@svc/sdk";
import type { Models, ResolvedModel } from "@svc/sdk/models";

/** What is known of what somebody wants. */
export interface ModelWish {
  /** `tools.media.model` */
  readonly configured: string | undefined;
  /** Of the call. */
  readonly asked: string | undefined;
  /** Pictures are sent along. */
  readonly withImages: boolean;
}

type Catalogue = Pick<Models, "list" | "resolve">;

/** One that does not say what it takes is given the benefit of the doubt. */
const takesImages = ({ input }: { readonly input?: readonly string[] }) => input?.includes("image") ?? true;
const refOf = ({ provider, id }: { readonly provider: string; readonly id: string }) => `${provider}/${id}`;

/**
 * The configured model, else the one of the call; else the default one if it will do, else the first that does. Choice:
 * what is configured comes first, so that who writes a prompt does not choose what it costs.
 * @throws GatewayError `UNAVAILABLE` naming the key when none takes images; what `Models.resolve` throws
 */
export function chooseModel(models: Catalogue, wish: ModelWish): ResolvedModel {
  const ref = wish.configured ?? wish.asked;
  const model = models.resolve(ref);
  if (!wish.withImages || takesImages(model)) return model;
  if (ref !== undefined) unavailable(`the model ${refOf(model)} takes no images; ${ADVICE}`);
  return firstThatSees(models) ?? unavailable(`no model here takes images; ${ADVICE}`);
}

/** Whether `chooseModel` finds one for images. */
export function canSee(models: Catalogue, { configured, asked }: Omit<ModelWish, "withImages">): boolean {
  const ref = configured ?? asked;
  return takesImages(models.resolve(ref)) || (ref === undefined && firstThatSees(models) !== undefined);
}

function firstThatSees(models: Catalogue): ResolvedModel | undefined {
  const first = models.list().find(({ input }) => input?.includes("image"));
  return first && models.resolve(refOf(first));
}

const ADVICE = 'set tools.media.model to one that does, with "image" in its `input` (models.providers.<name>.models)';
