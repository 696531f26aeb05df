/** Distances on the globe, and the rectangle of degrees that holds a circle. Pure. */
import type { Circle } from '../records/filter-value.ts';

const EARTH_KM = 6_371;
/** Degrees that are added to a rectangle on each side, against rounding. */
const MARGIN = 1e-6;

const radians = (degrees: number): number => (degrees * Math.PI) / 180;
const degrees = (angle: number): number => (angle * 180) / Math.PI;

export function isWithin(lat: number, lng: number, circle: Circle): boolean {
  return distanceKm(lat, lng, circle.lat, circle.lng) <= circle.km;
}

/** Great-circle distance (haversine formula). */
function distanceKm(otherLat: number, otherLng: number, lat: number, lng: number): number {
  const h =
    Math.sin(radians(otherLat - lat) / 2) ** 2 +
    Math.cos(radians(lat)) * Math.cos(radians(otherLat)) * Math.sin(radians(otherLng - lng) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** Every place of a circle, if its latitude is from -90 to 90, is at most `lat` and `lng` degrees from the middle. */
export function extentOf({ lat, km }: Circle): { readonly lat: number; readonly lng: number } {
  const angle = km / EARTH_KM;
  const height = degrees(angle) + MARGIN;
  // A circle with a pole in it goes around the world.
  if (Math.abs(lat) + height >= 90) return { lat: height, lng: 180 };
  return { lat: height, lng: degrees(Math.asin(Math.min(1, Math.sin(angle) / Math.cos(radians(lat))))) + MARGIN };
}
