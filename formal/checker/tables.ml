(* Tables of exact chances: the terms that the verified checker decides about. *)
open Extracted
open Numbers


let polynomial symbolic json =
  let numbers = List.map rational (Json.items json) in
  need (numbers <> [] && List.length numbers <= (if symbolic then 2000 else 1)) "a chance: its coefficients";
  numbers
let chance symbolic json = match Json.items json with
  | [p; q] ->
    let q = polynomial symbolic q in
    need (List.exists (fun c -> not (is_zero c)) q) "a chance: divided by 0";
    if symbolic && List.exists (fun c -> less c zero) q then raise (Unsupported "a denominator with negative coefficients");
    (polynomial symbolic p, q)
  | _ -> raise (Invalid "a chance")

(* --- neighbours among listed inputs *)
let entries = function Json.Array l -> l | x -> [x]
let whole = function
  | Json.Number s when is_digits (if s <> "" && s.[0] = '-' then String.sub s 1 (String.length s - 1) else s) -> rational (Json.String s)
  | Json.Number _ -> raise (Unsupported "inputs that are no whole numbers")
  | _ -> raise (Invalid "domain.values: neighbours are not numbers")
let absolute q = if less q zero then qopp q else q
let neighbours name radius x y =
  need (List.mem name ["any_pair"; "replace_one"; "l1"; "linf"; "monotone"]) ("tables and adjacency " ^ name);
  if name = "any_pair" || x = y then true
  else
    let a = entries x and b = entries y in
    List.length a = List.length b &&
    match name, radius with
    | "replace_one", None -> List.length (List.filter not (List.map2 (=) a b)) <= 1
    | _, None -> raise (Unsupported "neighbours without a radius")
    | _, Some r ->
      let gaps = List.map2 (fun u v -> add (whole v) (qopp (whole u))) a b in
      let small g = qle_bool (absolute g) r in
      match name with
      | "replace_one" -> let moved = List.filter (fun g -> not (is_zero g)) gaps in List.length moved <= 1 && List.for_all small moved
      | "l1" -> qle_bool (sum (List.map absolute gaps)) r
      | "linf" -> List.for_all small gaps
      | "monotone" -> List.for_all small gaps && (List.for_all (qle_bool zero) gaps || List.for_all (fun g -> qle_bool g zero) gaps)
      | other -> raise (Invalid ("tables and adjacency " ^ other))

let is_input json =
  let rec go depth = function
    | Json.Array l -> depth > 0 && List.for_all (go (depth - 1)) l
    | Json.Object _ -> false
    | _ -> true in
  go 3 json

let accepted c =
  (match Json.find "entries" c with None | Some Json.Null -> () | Some _ -> raise (Unsupported "tables of one entry of many"));
  need (Json.get "length" c = Json.Number "1") "length: not 1, as that of a table is";
  let domain = Json.get "domain" c in
  need (Json.get "kind" domain = Json.String "finite") "domain.kind";
  let values = Json.items (Json.get "values" domain) in
  need (List.for_all is_input values) "domain.values";
  let symbolic = Json.get "unit" c <> Json.Null in
  let tokens = Hashtbl.create 16 in
  let token text = match Hashtbl.find_opt tokens text with
    | Some i -> i | None -> let i = Hashtbl.length tokens in Hashtbl.add tokens text i; i in
  let table part = List.map (fun (output, ch) -> (token output, chance symbolic ch)) (Json.members part) in
  let rows = List.map (fun row -> (Json.get "input" row, List.map table (Json.items (Json.get "parts" row)))) (Json.items (Json.get "tables" c)) in
  let inputs = List.map fst rows in
  need (inputs <> [] && List.sort compare inputs = List.sort compare values) "tables: not those of the domain";
  need (List.length (List.sort_uniq compare inputs) = List.length inputs) "tables: an input twice";
  List.iter (fun (_, parts) -> need (parts <> []) "no table") rows;
  let adjacency = Json.get "adjacency" c in
  let name = Json.text (Json.get "name" adjacency) and radius = Records.end_of (Json.get "radius" adjacency) in
  need (match radius with Some r -> less zero r | None -> true) "adjacency.radius";
  let near = Array.of_list (List.map (fun x -> Array.of_list (List.map (neighbours name radius x) inputs)) inputs) in
  let tables = List.map snd rows and is_near i j = near.(i).(j) in
  let denominator = Json.integer (Json.get "denominator" c) in
  if symbolic then begin
    need (Json.get "exponential" c = Json.Null && denominator > 0) "exponential: there is a unit; or the denominator";
    let power = Json.integer (Json.get "power" c) in
    need (power >= 0 && power <= 2000) "power: not a small whole number";
    let stated = rational_of_text (string_of_int power ^ "/" ^ string_of_int denominator) in
    need (qeq_bool (rational (Json.get "epsilon" c)) stated) "epsilon: not power/denominator";
    accepts_table tables is_near power
  end else begin
    need (Json.get "power" c = Json.Null && denominator = 1 && Json.get "epsilon" c = Json.Null) "power: there is no unit";
    let factor = rational (Json.get "exponential" c) in
    need (qle_bool one factor) "exponential: below 1";
    accepts_numbers tables is_near factor
  end
