/** Where an agent's files lie. */
export { nameWithin, type Place, placeOf, type PlaceSources } from "@svc/kit/files";
